// git-trajectory: tells `git trajectory hook opencode` what happens in a session, and asks it for a checkpoint before a
// tool writes. Put here by `git trajectory install opencode`; `git trajectory install --uninstall opencode` takes it away.
import { execFileSync, spawn } from "node:child_process";

const PROGRAM = "@PROGRAM@";
const PATIENCE_MS = 2000;
const READERS = ["read", "grep", "glob", "find", "ls", "list"];

// Without an answer nothing is known of a checkpoint: whether the call may run then is for the user's configuration to say.
function required(tool, cwd) {
  if (READERS.includes(tool)) return false;
  try {
    const value = execFileSync("git", ["config", "--get", "checkpoint.onHook"], { cwd, encoding: "utf8", timeout: PATIENCE_MS, stdio: ["ignore", "pipe", "ignore"] });
    return value.trim().toLowerCase() === "require";
  } catch {
    return false;
  }
}

export const GitTrajectory = async ({ directory }) => {
  let child = null;
  let starts = 0;
  let next = 1;
  let last = "";
  const waiting = new Map();
  const ended = new Set();

  function drop() {
    child = null;
    for (const answer of waiting.values()) answer({});
    waiting.clear();
  }

  // In a process group of its own: what stops the agent with a key must not stop the record of it.
  function start() {
    if (child || starts > 1) return;
    starts++;
    try {
      const started = spawn(PROGRAM, ["hook", "opencode", "--stream"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"], detached: true });
      child = started;
      const lost = () => child === started && drop();
      started.on("error", lost);
      started.on("exit", lost);
      started.stdin.on("error", () => {});
      started.stdout.on("error", () => {});
      let rest = "";
      started.stdout.setEncoding("utf8");
      started.stdout.on("data", (text) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          try {
            const reply = JSON.parse(line);
            waiting.get(reply.id)?.(reply);
            waiting.delete(reply.id);
          } catch {}
        }
      });
      started.unref?.();
      started.stdin.unref?.();
      started.stdout.unref?.();
    } catch {
      drop();
    }
  }

  function send(event, session, data, reply = false) {
    try {
      start();
      if (!child || !session) return Promise.resolve({});
      last = session;
      const id = next++;
      const line = JSON.stringify({ v: 1, id, event, session, cwd: directory, data, reply });
      const answer = reply
        ? new Promise((resolve) => {
            const timer = setTimeout(() => waiting.delete(id) && resolve({}), PATIENCE_MS);
            waiting.set(id, (found) => (clearTimeout(timer), resolve(found)));
          })
        : Promise.resolve({});
      child.stdin.write(line + "\n");
      return answer;
    } catch {
      return Promise.resolve({});
    }
  }

  const safely = (handle) => async (...args) => {
    try {
      return await handle(...args);
    } catch (error) {
      if (error?.refusedByGitTrajectory) throw error;
    }
  };

  return {
    event: safely(async ({ event }) => {
      const what = event.properties ?? {};
      if (event.type === "session.created") void send("session.created", what.info?.id ?? what.sessionID, { info: { parentID: what.info?.parentID } });
      else if (event.type === "message.updated" && what.info?.role === "assistant" && what.info.time?.completed)
        void send("message.updated", what.info.sessionID, { info: what.info });
      else if (event.type === "message.part.updated" && what.part?.type === "tool" && what.part.state?.status === "error") {
        const { callID, tool, sessionID, state } = what.part;
        if (!ended.has(callID)) ended.add(callID), void send("tool.error", sessionID, { callID, tool, args: state.input, error: state.error });
      } else if (event.type === "permission.asked") void send("permission.asked", what.sessionID, { callID: what.tool?.callID });
      else if (event.type === "permission.replied") void send("permission.replied", what.sessionID, { reply: what.reply, requestID: what.requestID });
      else if (event.type === "session.compacted") void send("session.compacted", what.sessionID, {});
      else if (event.type === "session.idle") void send("session.idle", what.sessionID, {});
    }),
    "chat.message": safely(async (input, output) => {
      const text = (output.parts ?? []).filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n");
      if (text) void send("chat.message", input.sessionID, { text });
    }),
    "tool.execute.before": safely(async (input, output) => {
      const data = { callID: input.callID, tool: input.tool, args: output.args };
      const reply = await send("tool.execute.before", input.sessionID, data, true);
      if (reply?.refuse ?? required(input.tool, directory))
        throw Object.assign(new Error("git-trajectory: " + (reply?.error ?? "no checkpoint could be taken")), { refusedByGitTrajectory: true });
    }),
    "tool.execute.after": safely(async (input, output) => {
      ended.add(input.callID);
      const metadata = { exit: output.metadata?.exit };
      await send("tool.execute.after", input.sessionID, { callID: input.callID, tool: input.tool, args: input.args, output: output.output, metadata }, true);
    }),
    dispose: safely(async () => {
      if (child && last) await send("dispose", last, {}, true);
      child?.stdin.end();
    }),
  };
};
