// Lets claude-mem write the database of the sample: bun write_claude_mem.mjs PACKAGE DATABASE

const [, , program, database] = process.argv
const { SessionStore } = await import(`${program}/plugin/sqlite/SessionStore.js`)

const Day = globalThis.Date
let at = Day.parse("2026-05-01T10:00:00Z")
globalThis.Date = class extends Day {
  constructor(...given) {
    super(...(given.length ? given : [at]))
  }
  static now() {
    return at
  }
}

const store = new SessionStore(database)
function session(name, project, prompt) {
  const id = store.createSDKSession(name, project, prompt)
  store.updateMemorySessionId(id, `mem-${name}`)
  store.saveUserPrompt(name, 1, prompt)
}
function observe(name, project, observation) {
  at += 60_000
  const none = { subtitle: null, narrative: null, facts: [], concepts: [], files_read: [], files_modified: [] }
  store.storeObservation(`mem-${name}`, project, { ...none, ...observation }, 1, 100)
}
function summarize(name, project, summary) {
  at += 60_000
  const none = { investigated: null, learned: null, completed: null, next_steps: null, notes: null }
  store.storeSummary(`mem-${name}`, project, { ...none, ...summary }, 1, 100)
}

session("abc", "shop", "Which port has staging?")
observe("abc", "shop", {
  type: "decision", title: "Port of staging", subtitle: "It moved", narrative: "The old port was taken.",
  facts: ["Staging listens on 5433"], concepts: ["what-changed"], files_modified: ["deploy.yml"],
})
observe("abc", "shop", { type: "discovery", title: "バックアップは毎晩三時に動く" })
summarize("abc", "shop", {
  request: "Find the port", investigated: "The compose file.", learned: "It is 5433.", next_steps: "Tell Bob.",
})
summarize("abc", "shop", { request: "Tell Bob", completed: "Bob knows." })
session("def", "garden", "When do the tulips come up?")
observe("def", "garden", { type: "bugfix", title: "Tulips need frost", facts: ["Plant them in November"] })
store.close()
