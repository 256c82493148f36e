// Hands each session of opencode to memoryd once the agent has answered; its turns go into the journal.
// Copy this file to ~/.config/opencode/plugins/, or to .opencode/plugins/ of a project.

import { spawn } from "node:child_process"
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const COMMAND = ["uvx", "--from", "memoryd>=0.2.0", "memoryd", "hook", "stop", "--client", "opencode"]
const WORKSPACE = "auto"
const FOLDER = join(homedir(), ".local", "share", "memoryd-opencode")

export const Memoryd = async ({ client, directory }) => ({
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    const path = { id: event.properties.sessionID }
    const [session, list] = await Promise.all([client.session.get({ path }), client.session.messages({ path })])
    if (!session.data || !list.data) return
    const { id, parentID, title } = session.data
    const messages = list.data.map(({ info, parts }) => ({
      info: { id: info.id, role: info.role, time: info.time },
      parts: parts.filter((part) => part.type === "text" || part.type === "reasoning"),
    }))
    const texts = messages.at(-1)?.parts.filter((part) => part.type === "text") ?? []
    hand(directory, { info: { id, parentID, title, directory }, messages }, texts.at(-1)?.text)
  },
})

// The process goes on by itself: it neither holds the agent up nor ends with it. Nothing is awaited before it runs, since
// `opencode run` exits as soon as the session is idle.
function hand(cwd, session, last_assistant_message) {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 })
  const transcript_path = join(FOLDER, `${session.info.id}.json`)
  const given = join(FOLDER, `${session.info.id}.hook`)
  const event = { session_id: session.info.id, transcript_path, cwd, hook_event_name: "stop", last_assistant_message }
  writeFileSync(transcript_path, JSON.stringify(session), { mode: 0o600 })
  writeFileSync(given, JSON.stringify(event), { mode: 0o600 })
  const stdin = openSync(given)
  const [program, ...words] = [...COMMAND, "--workspace", WORKSPACE]
  const child = spawn(program, words, { cwd, detached: true, stdio: [stdin, "ignore", "ignore"] })
  child.on("error", () => {}) // uvx is not there: the agent goes on
  child.unref()
  closeSync(stdin)
}
