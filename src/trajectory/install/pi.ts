// git-trajectory: tells `git trajectory hook pi` what happens in a session, and asks it for a checkpoint before a tool
// writes. Put here by `git trajectory install pi`; `git trajectory install --uninstall pi` takes it away.
import { execFileSync, spawn } from "node:child_process";

const PROGRAM = "@PROGRAM@";
const PATIENCE_MS = 2000;
const READERS = ["read", "grep", "glob", "find", "ls", "list"];

// Without an answer nothing is known of a checkpoint: whether the call may run then is for the user's configuration to say.
function required(tool: string, cwd: string) {
  if (READERS.includes(tool)) return false;
  try {
    const value = execFileSync("git", ["config", "--get", "checkpoint.onHook"], { cwd, encoding: "utf8", timeout: PATIENCE_MS, stdio: ["ignore", "pipe", "ignore"] });
    return value.trim().toLowerCase() === "require";
  } catch {
    return false;
  }
}

export default function (pi: any) {
  let child: any = null;
  let starts = 0;
  let next = 1;
  let session = "";
  let file: string | undefined;
  const waiting = new Map<number, (reply: any) => void>();
  const results = new Set<string>();

  function drop() {
    child = null;
    for (const answer of waiting.values()) answer({});
    waiting.clear();
  }

  // In a process group of its own: what stops the agent with a key must not stop the record of it.
  function start(cwd: string) {
    if (child || starts > 1) return;
    starts++;
    try {
      const started = spawn(PROGRAM, ["hook", "pi", "--stream"], { cwd, stdio: ["pipe", "pipe", "ignore"], detached: true });
      child = started;
      const lost = () => child === started && drop();
      started.on("error", lost);
      started.on("exit", lost);
      started.stdin.on("error", () => {});
      started.stdout.on("error", () => {});
      let rest = "";
      started.stdout.setEncoding("utf8");
      started.stdout.on("data", (text: string) => {
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
      started.unref();
      (started.stdin as any).unref?.();
      (started.stdout as any).unref?.();
    } catch {
      drop();
    }
  }

  function send(event: string, ctx: any, data: any, reply = false): Promise<any> {
    try {
      const cwd = ctx?.cwd ?? process.cwd();
      start(cwd);
      if (!child) return Promise.resolve({});
      const id = next++;
      const line = JSON.stringify({ v: 1, id, event, session, cwd, data, reply });
      const answer = reply
        ? new Promise<any>((resolve) => {
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

  function on(name: string, handle: (event: any, ctx: any) => any) {
    try {
      pi.on(name, async (event: any, ctx: any) => {
        try {
          return await handle(event, ctx);
        } catch {}
      });
    } catch {}
  }

  on("session_start", (event, ctx) => {
    session = ctx.sessionManager.getSessionId();
    file = ctx.sessionManager.getSessionFile();
    send("session_start", ctx, { reason: event.reason, sessionFile: file, mode: ctx.mode, model: ctx.model?.id });
  });
  on("before_agent_start", (event, ctx) => void send("before_agent_start", ctx, { prompt: event.prompt }));
  on("turn_start", (event, ctx) => void send("turn_start", ctx, { turnIndex: event.turnIndex }));
  on("message_end", (event, ctx) => {
    const message = event.message;
    if (message?.role !== "assistant") return;
    const content = (message.content ?? []).map((block: any) => ({ type: block.type, text: block.type === "text" ? block.text : undefined }));
    void send("message_end", ctx, { message: { ...message, content } });
  });
  on("tool_call", async (event, ctx) => {
    const reply = await send("tool_call", ctx, { toolCallId: event.toolCallId, toolName: event.toolName, input: event.input }, true);
    if (reply?.refuse ?? required(event.toolName, ctx?.cwd ?? process.cwd()))
      return { block: true, reason: "git-trajectory: " + (reply?.error ?? "no checkpoint could be taken") };
  });
  on("tool_result", (event) => void results.add(event.toolCallId));
  on("tool_execution_end", (event, ctx) => {
    const sawResult = results.delete(event.toolCallId);
    const content = (event.result?.content ?? []).filter((block: any) => block.type === "text");
    void send("tool_execution_end", ctx, {
      toolCallId: event.toolCallId, toolName: event.toolName, input: event.args, isError: event.isError,
      durationMs: event.durationMs, result: { content }, sawResult,
    });
  });
  on("turn_end", (event, ctx) => void send("turn_end", ctx, { turnIndex: event.turnIndex, toolResults: event.toolResults?.length ?? 0 }));
  on("session_compact", (event, ctx) =>
    void send("session_compact", ctx, { reason: "auto", compactionEntry: { tokensBefore: event.compactionEntry?.tokensBefore } }));
  on("agent_settled", (event, ctx) => void send("agent_settled", ctx, { aborted: event.aborted === true }));
  on("session_shutdown", async (event, ctx) => {
    await send("session_shutdown", ctx, { reason: event.reason ?? "quit" }, true);
    child?.stdin.end();
  });
}
