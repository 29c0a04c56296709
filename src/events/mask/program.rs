//! Which programs take secrets on their command lines, and behind which of their words.
//! One line a program; what long options like `--password` say is known by the name.

use super::place::three_of;

/// Which part of a word is the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All of the word behind the option, also when it is joined to it.
    Whole,
    /// Only what is joined to the option: `-psecret`.
    Joined,
    /// Behind the first sign of such kind: `user:secret`, `user%secret`, `user,secret`.
    Behind(u8),
    /// Behind `pass:`, of several ways to give one.
    Pass,
    /// The second word behind the option.
    Second,
    /// The last word of the command.
    Last,
    /// What each `NAME=value` behind it sets.
    Pairs,
    /// Between `:` (or `/`) and the last `@` of any word: `user:secret@host`.
    Login(u8),
}

/// A program and its options; a name that ends in `*` begins names.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    anchor: usize,
    /// An option that ends in `*` begins the word before the secret, one that ends in
    /// `:` or `=` the very word; the empty one is the name of the program.
    pub(super) options: &'static [(&'static str, Part)],
}

const fn p(name: &'static str, anchor: usize, options: &'static [(&'static str, Part)]) -> Program {
    Program {
        name,
        anchor,
        options,
    }
}

impl Program {
    /// Three bytes that the name has.
    pub(super) const fn anchor(&self) -> [u8; 3] {
        three_of(self.name, self.anchor)
    }

    /// Where the name begins when its anchor is at `at`.
    pub(super) fn start(&self, at: usize) -> Option<usize> {
        at.checked_sub(self.anchor)
    }
}

use Part::{Behind, Joined, Last, Login, Pairs, Pass, Second, Whole};

const LOGIN: &[(&str, Part)] = &[("-p", Whole)];
const SETS: &[(&str, Part)] = &[("", Pairs)];

/// Sorted by what they do; the number is where the three rarest letters begin.
pub(super) const PROGRAMS: &[Program] = &[
    // The web.
    p(
        "curl ",
        2,
        &[
            ("-u", Behind(b':')),
            ("--user", Behind(b':')),
            ("-U", Behind(b':')),
            ("--proxy-user", Behind(b':')),
            ("-E", Behind(b':')),
            ("--cert", Behind(b':')),
            ("--pass", Whole),
            ("--oauth2-bearer", Whole),
            ("--tlspassword", Whole),
        ],
    ),
    p(
        "http ",
        2,
        &[("-a", Behind(b':')), ("--auth", Behind(b':'))],
    ),
    p("xh ", 0, &[("-a", Behind(b':')), ("--auth", Behind(b':'))]),
    p(
        "htpasswd ",
        2,
        &[
            ("-b", Last),
            ("-nb", Last),
            ("-bn", Last),
            ("-bc", Last),
            ("-cb", Last),
            ("-Bb", Last),
            ("-bB", Last),
            ("-nbB", Last),
            ("-Bbn", Last),
            ("-nbm", Last),
            ("-bnBC", Last),
            ("-bcB", Last),
            ("-cbB", Last),
            ("-Bbc", Last),
            ("-Bcb", Last),
        ],
    ),
    p(
        "ngrok ",
        0,
        &[
            ("add-authtoken", Whole),
            ("authtoken", Whole),
            ("--basic-auth", Behind(b':')),
            ("-auth", Behind(b':')),
        ],
    ),
    p("lftp ", 0, &[("-u", Behind(b',')), ("user", Second)]),
    p("ncftp*", 0, &[("-p", Whole)]),
    p(
        "mosquitto*",
        2,
        &[("-P", Whole), ("--pw", Whole), ("-b", Second)],
    ),
    p("swaks ", 1, &[("-ap", Whole)]),
    p("sendemail ", 3, &[("-xp", Whole)]),
    p("jfrog ", 0, &[("-u", Behind(b':')), ("-p", Whole)]),
    // Databases.
    p("mysql*", 1, &[("-p", Joined), ("password", Whole)]),
    p("mariadb*", 3, &[("-p", Joined), ("password", Whole)]),
    p("sqlcmd ", 2, &[("-P", Whole)]),
    p("bcp ", 0, &[("-P", Whole)]),
    p("tsql ", 0, &[("-P", Whole)]),
    p("sqlplus ", 2, &[("", Login(b'/'))]),
    p("expdp ", 2, &[("", Login(b'/'))]),
    p("impdp ", 1, &[("", Login(b'/'))]),
    p("sqlldr ", 3, &[("", Login(b'/'))]),
    p("db2 ", 0, &[("using", Whole)]),
    p(
        "redis-cli ",
        4,
        &[
            ("-a", Whole),
            ("--pass", Whole),
            ("auth", Whole),
            ("AUTH", Whole),
        ],
    ),
    p("valkey-cli ", 5, &[("-a", Whole), ("--pass", Whole)]),
    p("mongo*", 2, &[("-p", Whole)]),
    p("influx ", 3, &[("-p", Whole), ("-t", Whole)]),
    p("cqlsh ", 1, &[("-p", Whole)]),
    p("beeline ", 1, &[("-p", Whole)]),
    p("cypher-shell ", 1, &[("-p", Whole)]),
    p("etcdctl ", 1, &[("--user", Behind(b':'))]),
    p(
        "rabbitmqctl ",
        2,
        &[
            ("add_user", Second),
            ("change_password", Second),
            ("authenticate_user", Second),
        ],
    ),
    p("rabbitmqadmin ", 2, &[("-p", Whole)]),
    // Machines and networks.
    p("sshpass ", 2, &[("-p", Whole)]),
    p("ssh-keygen ", 5, &[("-N", Whole), ("-P", Whole)]),
    p("plink ", 3, &[("-pw", Whole)]),
    p("pscp ", 0, &[("-pw", Whole)]),
    p("psftp ", 0, &[("-pw", Whole)]),
    p(
        "smb*",
        0,
        &[
            ("-U", Behind(b'%')),
            ("--user", Behind(b'%')),
            ("-p", Whole),
        ],
    ),
    p("rpcclient ", 1, &[("-U", Behind(b'%'))]),
    p("wbinfo ", 0, &[("-a", Behind(b'%'))]),
    p("net use ", 0, &[("/user:*", Whole), ("\\\\*", Whole)]),
    p("net user ", 0, &[("", Second)]),
    p("cmdkey ", 1, &[("/pass:", Whole)]),
    p("schtasks ", 2, &[("/rp", Whole)]),
    p("psexec ", 1, &[("-p", Whole)]),
    p("evil-winrm ", 3, &[("-p", Whole)]),
    p("crackmapexec ", 3, &[("-p", Whole)]),
    p("nxc ", 0, &[("-p", Whole)]),
    p("hydra ", 1, &[("-p", Whole)]),
    p("secretsdump.py ", 6, &[("", Login(b':'))]),
    p("psexec.py ", 1, &[("", Login(b':'))]),
    p("wmiexec.py ", 1, &[("", Login(b':'))]),
    p("smbexec.py ", 0, &[("", Login(b':'))]),
    p("getuserspns.py ", 6, &[("", Login(b':'))]),
    p("xfreerdp*", 5, &[("/p:", Whole), ("-p", Whole)]),
    p("rdesktop ", 2, &[("-p", Whole)]),
    p("snmp*", 1, &[("-A", Whole), ("-X", Whole), ("-c", Whole)]),
    p("ipmitool ", 0, &[("-P", Whole), ("-k", Whole)]),
    p("racadm ", 1, &[("-p", Whole)]),
    p(
        "nmcli ",
        1,
        &[
            ("password", Whole),
            ("wifi-sec.psk", Whole),
            ("802-11-wireless-security.psk", Whole),
        ],
    ),
    p("wpa_passphrase ", 2, &[("", Second)]),
    p("ldap*", 0, &[("-w", Whole), ("-s", Whole)]),
    p("slappasswd ", 1, &[("-s", Whole)]),
    p("kadmin*", 0, &[("-w", Whole), ("-pw", Whole)]),
    p("samba-tool ", 2, &[("create", Second), ("add", Second)]),
    // Keys, archives, documents.
    p(
        "openssl ",
        3,
        &[
            ("-passin", Pass),
            ("-passout", Pass),
            ("-pass", Pass),
            ("-password", Pass),
            ("-k", Whole),
            ("-K", Whole),
            ("-hmac", Whole),
        ],
    ),
    p(
        "apksigner ",
        0,
        &[("--ks-pass", Pass), ("--key-pass", Pass)],
    ),
    p(
        "security ",
        0,
        &[("-p", Whole), ("-P", Whole), ("-k", Whole), ("-w", Whole)],
    ),
    p("altool ", 1, &[("-p", Whole)]),
    p("oathtool ", 0, &[("", Last)]),
    p("7z ", 0, &[("-p", Joined)]),
    p("7za ", 0, &[("-p", Joined)]),
    p("7zz ", 0, &[("-p", Joined)]),
    p("zip ", 0, &[("-P", Whole)]),
    p("unzip ", 2, &[("-P", Whole)]),
    p("rar ", 1, &[("-p", Joined), ("-hp", Joined)]),
    p(
        "pdftk ",
        1,
        &[("user_pw", Whole), ("owner_pw", Whole), ("input_pw", Whole)],
    ),
    p("qpdf ", 0, &[("--encrypt", Whole)]),
    p("steghide ", 3, &[("-p", Whole)]),
    p("rclone ", 0, &[("obscure", Whole), ("pass", Whole)]),
    // Registries and clouds.
    p("docker login ", 8, LOGIN),
    p("podman login ", 8, LOGIN),
    p("nerdctl login ", 9, LOGIN),
    p("buildah login ", 9, LOGIN),
    p("skopeo login ", 8, LOGIN),
    p("registry login ", 10, LOGIN),
    p("auth login ", 6, LOGIN),
    p("az login ", 4, LOGIN),
    p("oc login ", 4, LOGIN),
    p("cf login ", 4, LOGIN),
    p("ibmcloud login ", 10, LOGIN),
    p("cargo login ", 7, &[("", Last)]),
    p("wandb login ", 7, &[("", Last)]),
    p("vault login ", 7, &[("", Last)]),
    p("operator unseal ", 11, &[("", Last)]),
    p("vault kv put ", 0, SETS),
    p("vault write ", 0, SETS),
    p("create secret ", 8, &[("--from-literal", Behind(b'='))]),
    p("gh secret set ", 4, &[("-b", Whole), ("--body", Whole)]),
    p("secrets set ", 1, SETS),
    p("secret:create ", 1, &[("--value", Whole)]),
    p("user-secrets set ", 6, &[("", Second)]),
    p("config:set ", 5, SETS),
    p("env:set ", 2, &[("", Second)]),
    p("pulumi config set ", 2, &[("--secret", Last)]),
    p("ssm put-parameter ", 6, &[("--value", Whole)]),
    p("mc alias set ", 4, &[("", Last)]),
    p("b2 authorize-account ", 0, &[("", Last)]),
    p("b2 account authorize ", 0, &[("", Last)]),
    p("bundle config ", 3, &[("", Last)]),
    p("poetry config ", 1, &[("", Last)]),
    p("poetry publish ", 1, LOGIN),
    p("twine ", 0, LOGIN),
    p("nuget ", 1, &[("-p", Whole), ("setApiKey", Whole)]),
    p("snyk ", 1, &[("auth", Whole), ("api=", Whole)]),
    p("doctl ", 1, &[("-t", Whole)]),
    p("codecov ", 4, &[("-t", Whole)]),
];
