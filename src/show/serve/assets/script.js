// SPDX-License-Identifier: Apache-2.0
// Draws the page of an address from the JSON of rowlock serve, and again every two seconds. Each
// text of others becomes a text node or an attribute, never HTML. A new version is merged into the
// old one, so that focus, open details and scroll positions remain. It pauses while the page is
// hidden, or while text is selected. An operator also has buttons, which ask before they act.
"use strict";
(() => {
  const EVERY = 2000, LONGEST = 10000, OLD = 5000, MOST = 500, HOLDERS = 200;
  const at = (id) => document.getElementById(id);
  const main = at("main");
  let now = 0; // by the database's clock

  // ---- elements ----------------------------------------------------------------------------------

  // h("a", { href }, children...): children are nodes, texts, lists of them, or nothing.
  const h = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (value || value === 0) element.setAttribute(name, value === true ? "" : value);
    element.append(...children.flat(3).filter((child) => child || child === 0));
    return element;
  };

  // A character that cannot be seen, or turns the direction of the text, is shown as an escape.
  const visible = (text, but) => String(text ?? "").replace(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => {
      const code = c.charCodeAt(0);
      if (c === but) return c;
      if (c === "\n" || c === "\t" || c === "\r") return { "\n": "\\n", "\t": "\\t", "\r": "\\r" }[c];
      return code < 256 ? "\\x" + code.toString(16).padStart(2, "0")
        : "\\u" + code.toString(16).padStart(4, "0");
    });
  const word = (text) => h("bdi", {}, visible(text));
  const code = (text) => h("code", {}, word(text));
  const lines = (text) => h("pre", { tabindex: "0" }, visible(text, "\n"));
  const none = () => h("span", { class: "none dash" }, "-");
  const soft = (text) => h("span", { class: "none" }, text);
  const pill = (tone, text) => h("span", { class: "pill " + tone }, text);
  const orNone = (text) => (text ? word(text) : none());
  const number = (value) => (value === null || value === undefined ? none() : String(value));
  const link = (address, name) =>
    h("a", { class: "name", href: address + encodeURIComponent(name) }, word(name));

  // ---- times -------------------------------------------------------------------------------------

  const duration = (ms) => {
    const s = Math.floor(Math.max(ms, 0) / 1000), two = (n) => String(n).padStart(2, "0");
    if (s < 1) return Math.max(Math.round(ms), 0) + "ms";
    if (s < 60) return s + "s";
    if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
    if (s < 86400) return Math.floor(s / 3600) + "h" + two(Math.floor(s / 60) % 60) + "m";
    return Math.floor(s / 86400) + "d" + two(Math.floor(s / 3600) % 24) + "h";
  };
  const lasted = (ms) => (ms === null || ms === undefined ? none() : duration(ms));
  const local = (ms) => new Date(ms).toLocaleString("sv-SE"); // 2026-11-21 02:00:01
  const time = (instant, text) => {
    const ms = Date.parse(instant ?? "");
    if (Number.isNaN(ms)) return none();
    return h("time", { datetime: instant, title: local(ms) }, text(ms));
  };
  const age = (instant) => time(instant, (ms) => duration(now - ms));
  const left = (instant) => time(instant, (ms) => duration(ms - now));
  const since = (instant) =>
    time(instant, (ms) => (ms > now ? "in " + duration(ms - now) : duration(now - ms) + " ago"));
  const due = (instant) => [Date.parse(instant ?? "") <= now && "due ", since(instant)];

  // ---- parts of rows -----------------------------------------------------------------------------

  const process = (host, pid) =>
    [orNone(host), pid ? h("span", { class: "pid" }, ":" + pid) : null];
  const caller = (row) => [process(row.host, row.pid), row.command && [" ", code(row.command)]];
  const who = (row) => {
    if (!row) return none();
    if (row.kind !== "transaction") return caller(row);
    return [caller({ ...row, pid: null }),
      row.pid && h("span", { class: "pid" }, " session " + row.pid)];
  };
  const mode = (row) => [
    row.mode === "permit" ? `${row.permits ?? 1} of ${row.limit} permits` : row.mode,
    row.kind === "transaction" && [" ", soft("transaction")]];
  const leftOf = (row) => {
    if (!row || row.kind === "transaction" || row.state === "waiting") return none();
    return row.expires ? left(row.expires) : "until released";
  };
  const lockState = (stops, held) =>
    (stops ? pill("bad", "told to stop") : held ? pill("good", "held") : pill("wait", "waiting"));
  const tones = { fine: "good", paused: "calm", slow: "wait", late: "bad", failing: "bad", lost: "bad",
    NONE: "calm", PROCESSING: "wait", COMPLETE: "good", ERROR: "bad" };
  const state = (text) => pill(tones[text] || "calm", text);
  const result = (outcome, exit) => {
    if (!outcome) return none();
    const text = outcome === "failed" ? "exit " + exit : outcome;
    return pill(outcome === "done" ? "good" : outcome === "running" ? "wait" : "bad", text);
  };
  const lastResult = (job) => result(job.last_outcome, job.last_exit);

  // ---- actions -----------------------------------------------------------------------------------

  let session = {}; // who this visitor is, and what it may do
  // The token of the login. Its storage belongs to this port; the cookie is sent to each port of the
  // host. Without storage it lasts until a reload.
  let token = "";
  const keepToken = (value) => {
    token = value || "";
    try { localStorage.setItem("token", token); } catch { /* no storage */ }
  };
  const keptToken = () => {
    try { return localStorage.getItem("token") ?? token; } catch { return token; }
  };
  const mayAct = () => session.actions && session.role === "operator" && session.token;
  const isHold = (row) => !row.pid && /^hold( by |$)/.test(row.command || "");

  // A button that asks for an action. Its data is in attributes, because a new version of the page
  // replaces those of the old button.
  const button = (action, title, name, token) => mayAct() && h("button", { type: "button",
    "data-act": action, "data-name": name, "data-token": token, "data-key": action + token,
    "aria-label": `${title}: ${visible(name)}` }, title);
  const bar = (...buttons) => mayAct() && h("div", { class: "actions", "data-key": "actions" }, buttons);
  const actOnLease = (row) => (row.kind === "transaction" || !row.token ? none()
    : isHold(row) ? button("release", "Release", row.name, row.token)
      : button("break", "Break", row.name, row.token));
  const jobActions = (job) => bar(!job.paused_token && button("run", "Run now", job.name),
    job.paused_token ? button("resume", "Resume", job.name, job.paused_token)
      : button("pause", "Pause", job.name),
    job.running_token && button("stop", "Break the run", job.name, job.running_token));

  // What a dialog asks, the path of its action, and what the page says afterwards.
  const note = ["note", "Note, for callers that are refused", { required: true, maxlength: 300 }];
  const lasts = ["for", "How long (90s, 5m, 2h; empty: until it is released)",
    { maxlength: 20, pattern: "([0-9.]+(ms|s|m|h|d|w)?)+" }];
  const atOnce = ["now", "Free at once: a holder that has not noticed may overlap with the next one"];
  const actions = {
    break: { title: "Break the lease of", does: "Its holder stops when it renews next, after a " +
      "third of its ttl at most.", button: "Break", fields: [atOnce], path: "/api/break",
    said: "was broken" },
    stop: { title: "Break the present run of", does: "The run is not repeated; the job runs again " +
      "at its next due time.", button: "Break", fields: [], path: "/api/break", said: "was broken" },
    hold: { title: "Hold", does: "Callers that want the name wait or are refused, until the hold " +
      "ends.", button: "Hold", fields: [note, lasts], path: "/api/hold", said: "is held" },
    release: { title: "Release the hold of", does: "The name is free at once.", button: "Release",
      fields: [], path: "/api/release", said: "was released" },
    run: { title: "Run now", does: "The next node that asks for the job runs it once.",
      button: "Run now", fields: [], path: "/api/run", said: "is due now" },
    pause: { title: "Pause", does: "No node runs the job until the pause ends.", button: "Pause",
      fields: [note, lasts], path: "/api/pause", said: "is paused" },
    resume: { title: "Resume", does: "The job runs again at its next due time.", button: "Resume",
      fields: [], path: "/api/resume", said: "was resumed" },
    login: { title: "Log in", button: "Log in", path: "/api/login", said: "Logged in.", fields: [
      ["user", "Name", { required: true, autocomplete: "username", maxlength: 63 }],
      ["password", "Password", { required: true, type: "password", maxlength: 255,
        autocomplete: "current-password" }]] },
  };

  const post = async (path, values) => {
    const answer = await fetch(path, { method: "POST", cache: "no-store",
      credentials: "same-origin", signal: AbortSignal.timeout(3 * LONGEST), body: JSON.stringify(values),
      headers: { "Content-Type": "application/json", "X-Rowlock-Token": session.token || "" } });
    const data = await answer.json();
    if ((answer.status === 401 || answer.status === 403) && path !== "/api/login")
      await learnSession();
    if (!answer.ok) throw new Error(data.error);
    if (path === "/api/login" || path === "/api/logout") keepToken(data.token);
    return data;
  };
  const say = (...children) => at("said").replaceChildren(...children);

  const learnSession = async () => {
    session = await load("/api/session.json", undefined, { "X-Rowlock-Token": keptToken() });
    at("session").replaceChildren(...[
      session.user && h("span", {}, word(session.user), " ", soft(session.role)),
      session.token ? h("button", { type: "button", "data-act": "logout" }, "Log out")
        : session.password && h("button", { type: "button", "data-act": "login" }, "Log in"),
    ].filter(Boolean));
  };

  // After a login or logout: its button has gone, and the page has other buttons.
  const enter = async () => {
    await learnSession();
    main.focus({ preventScroll: true });
    refresh();
  };

  const input = ([name, title, attributes]) => (attributes
    ? h("label", {}, title, h("input", { name, autocomplete: "off", ...attributes }))
    : h("label", { class: "check" }, h("input", { name, type: "checkbox" }), " ", title));
  // Opens the dialog; Escape and Cancel close it.
  const ask = (action, name, token) => {
    const error = h("p", { class: "error", role: "alert" });
    const form = h("form", {},
      h("h2", { id: "asked" }, action.title, name && [" ", word(name)]),
      action.does && h("p", {}, action.does), action.fields.map(input), error,
      h("div", { class: "actions" }, h("button", { type: "submit", class: "main" }, action.button),
        h("button", { type: "button", "data-act": "cancel" }, "Cancel")));
    form.addEventListener("submit", async (event) => {
      const values = {}, submit = form.querySelector("button.main");
      event.preventDefault();
      if (name) values.name = name;
      if (action === actions.stop) values.name = "job:" + name;
      if (token) values.token = token;
      for (const field of form.querySelectorAll("input"))
        if (field.type === "checkbox") values[field.name] = field.checked;
        else if (field.value) values[field.name] = field.value;
      submit.disabled = true;
      try {
        await post(action.path, values);
        at("dialog").close();
        if (name) say(word(name), " ", action.said, ".");
        else say(action.said);
        if (!name) await enter();
        else refresh();
      } catch (failure) {
        error.replaceChildren(visible(failure.message));
      }
      submit.disabled = false;
    });
    at("dialog").replaceChildren(form);
    at("dialog").showModal();
    (form.querySelector("input") || form.querySelector("button")).focus();
  };
  const actOn = async (element) => {
    const { act, name, token } = element.dataset;
    if (act === "cancel") at("dialog").close();
    else if (act === "logout") {
      const said = await post("/api/logout", {})
        .then(() => "Logged out.", (failure) => visible(failure.message));
      await enter();
      say(said);
    } else ask(actions[act], name, token);
  };

  // ---- parts of pages ----------------------------------------------------------------------------

  // A table; columns are [title, cell of a row, whether it is a number]. On a narrow screen each row
  // becomes a card whose cells show their titles; the roles keep it a table for a screen reader.
  const table = (caption, rows, keyOf, columns) => h("div", { class: "scroll" },
    h("table", { role: "table" }, h("caption", { class: "unseen" }, caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(([title, , isNumber]) =>
        h("th", { scope: "col", role: "columnheader", class: isNumber && "number" }, title)))),
      h("tbody", { role: "rowgroup" }, rows.map((row, i) =>
        h("tr", { role: "row", "data-key": "row " + keyOf(row, i) },
          columns.map(([title, cell, isNumber]) =>
            h("td", { role: "cell", "data-label": title, class: isNumber && "number" },
              h("div", {}, cell(row, i)))))))));
  const section = (id, title, count, ...children) =>
    h("section", { "data-key": id, "aria-labelledby": id }, h("h2", { id }, title,
      count !== null && [" ", h("span", { class: "count" }, String(count))]), children);
  const empty = (...children) => h("p", { class: "empty" }, children);
  const cut = (n, most, address) => n > most && h("p", { class: "more" },
    `${n - most} more are not shown. `, h("a", { href: address }, "All of them"));
  const asJson = (address) => h("p", { class: "more" }, h("a", { href: address }, "JSON"));
  const command = (text) => h("code", {}, text);
  const noJob = () => empty("No job is known. A node adds a job when it first asks for it: ",
    command("rowlock cron FILE"), ", or ", command("rowlock job"), " in a crontab");
  const matches = (texts) => {
    const wanted = (new URLSearchParams(location.search).get("q") || "").toLowerCase();
    return !wanted || texts.some((text) => (text || "").toLowerCase().includes(wanted));
  };
  // A list with a filter: `rows` that match, or why there is none.
  const list = (rows, textsOf, address, draw, noRow, noMatch) => {
    const shown = rows.filter((row) => matches(textsOf(row)));
    if (!rows.length) return noRow();
    return shown.length ? [draw(shown.slice(0, MOST)), cut(shown.length, MOST, address)]
      : empty(noMatch);
  };

  // ---- the overview ------------------------------------------------------------------------------

  const tile = (href, title, n, isBad, ...sub) =>
    h("a", { class: isBad ? "tile alarm" : "tile", href }, h("span", { class: "label" }, title),
      h("strong", {}, String(n)), h("span", { class: "sub" }, sub));
  const tiles = (sum) => h("div", { class: "tiles" },
    tile("/locks", "Held", sum.held, sum.stopping,
      sum.stopping ? sum.stopping + " told to stop" : sum.in_transaction + " by transactions"),
    tile("/locks", "Waiting", sum.waiting, sum.cycles, sum.cycles ? "in a cycle, " : null,
      sum.waiting ? ["longest ", age(sum.waiting_since)] : "no queue"),
    tile("/jobs", "Jobs", sum.jobs, sum.job_problems, sum.running + " running",
      sum.job_problems ? `, ${sum.job_problems} with problems` : null),
    tile("/subjects", "Subjects", sum.subjects, sum.subject_problems,
      sum.subject_problems ? sum.subject_problems + " failed" : "none failed"));

  const jobProblem = (job) => {
    switch (job.state) {
    case "failing":
      return ["has failed for ", age(job.state_since), "; the last run ended ",
        since(job.last_finished), " on ", orNone(job.last_node), ": ", lastResult(job)];
    case "lost":
      return ["the run that began ", since(job.state_since), " on ", orNone(job.last_node),
        " lost its lease before it finished"];
    case "late":
      return ["was due ", since(job.state_since), ", and no node has run it: does a crontab still " +
        "call it (", command("rowlock job"), "), or is ", command("rowlock cron"), " running?"];
    default:
      return ["runs for ", age(job.running_since), " on ", orNone(job.running_at),
        "; the average is ", lasted(job.average_ms)];
    }
  };
  const problem = (key, label, ...text) => h("li", { "data-key": key }, label, h("div", {}, text));
  const problems = (data) => {
    const sum = data.totals;
    const n = sum.cycles + sum.job_problems + sum.subject_problems + sum.stopping;
    const items = [
      data.cycles.map((names) => problem("cycle " + names, pill("bad", "cycle"), "Lock ",
        names.map((name, i) => [i ? ", " : null, link("/lock?name=", name)]),
        names.length > 1 ? ": the holder of each waits for another of them"
          : ": its own holder waits for it",
        ". The wait ends only by a time limit, an expiry or ", command("rowlock break"), ".")),
      data.bad_jobs.map((job) => problem("job " + job.name, state(job.state), "Job ",
        link("/job?name=", job.name), " ", jobProblem(job))),
      data.bad_subjects.map((row) => problem("subject " + row.subject, pill("bad", "error"),
        "Subject ", link("/subjects?q=", row.subject), ": the last refresh failed ",
        since(row.ended), row.error && [": ", word(row.error)])),
      data.bad_leases.map((row) => problem("lease " + row.token, pill("bad", "told to stop"),
        "Lock ", link("/lock?name=", row.name), " was broken, and ", who(row),
        " still holds it; it expires in ", leftOf(row)))].flat();
    return section("problems", "Problems", n, n
      ? [h("ul", { class: "problems" }, items), cut(n, items.length, "/jobs")]
      : empty("No problems: no job is late, slow, failing or lost, no refresh has failed, every " +
        "broken lease has ended, and no callers wait for each other."));
  };

  const overview = (data) => {
    const sum = data.totals;
    return [tiles(sum), problems(data),
      section("queues", "Queues", sum.queues, data.queues.length
        ? table("Names with the longest queues", data.queues, (row) => row.name, [
          ["Name", (row) => link("/lock?name=", row.name)],
          ["Holder", (row) => who(row.holder)],
          ["Held for", (row) => age(row.holder?.since), true],
          ["Waiting", (row) => String(row.waiting), true],
          ["Longest wait", (row) => age(row.since), true]])
        : empty("No caller waits for a lock."), cut(sum.queues, data.queues.length, "/locks")),
      section("jobs", "Running and next jobs", null, data.jobs.length
        ? table("Jobs that run, and the next", data.jobs, (job) => job.name, [
          ["Job", (job) => link("/job?name=", job.name)],
          ["State", (job) => state(job.state)],
          ["Next", (job) => due(job.next_run)],
          ["Running on", (job) => process(job.running_at, job.running_pid)],
          ["For", (job) => age(job.running_since), true],
          ["Last", lastResult]])
        : noJob(), cut(sum.jobs, data.jobs.length, "/jobs")),
      section("held", "Held locks", sum.held, data.held.length
        ? table("Held locks", data.held, (row) => row.name + row.token + row.pid, [
          ["Name", (row) => link("/lock?name=", row.name)],
          ["Mode", mode],
          ["Holder", who],
          ["Held for", (row) => age(row.since), true],
          ["Left", leftOf, true],
          ["Note", (row) => orNone(row.note)]])
        : empty("No lock is held. Run a command under one: ",
          command("rowlock run NAME -- COMMAND")), cut(sum.held, data.held.length, "/locks"))];
  };

  // ---- locks -------------------------------------------------------------------------------------

  const byName = (rows) => {
    const names = new Map();
    for (const row of rows) {
      const name = names.get(row.name) || { name: row.name, holders: [], waiters: [], rows: [] };
      (row.state === "waiting" ? name.waiters : name.holders).push(row);
      name.rows.push(row);
      names.set(row.name, name);
    }
    return [...names.values()];
  };
  const locks = (data, rows) => list(byName(rows),
    (name) => name.rows.flatMap((row) => [row.name, row.host, row.command, row.note]),
    "/api/ls.json",
    (names) => table("Names with holders or waiters", names, (name) => name.name, [
      ["Name", (name) => link("/lock?name=", name.name)],
      ["State", (name) => lockState(name.holders.some((row) => row.stop), name.holders.length)],
      ["Mode", (name) => mode(name.rows[0])],
      ["Holder", (name) => [who(name.holders[0]), name.holders.length > 1 &&
        [" ", soft(`and ${name.holders.length - 1} more`)]]],
      ["Held for", (name) => age(name.holders[0]?.since), true],
      ["Left", (name) => leftOf(name.holders[0]), true],
      ["Waiting", (name) => String(name.waiters.length), true],
      ["Note", (name) => orNone(name.rows[0].note)]]),
    () => empty("No lock is held or waited for. Run a command under one: ",
      command("rowlock run NAME -- COMMAND")),
    "No name, host, command or note contains the filter.");

  const relation = (name) =>
    [["job:", "/job?name=", "the job"], ["subject:", "/subjects?q=", "the subject"]]
      .filter(([prefix]) => name.startsWith(prefix) && name !== prefix)
      .map(([prefix, href, what]) => h("p", { "data-key": "relation" },
        `This is the lock of ${what} `, link(href, name.slice(prefix.length)), "."));
  const lock = (data, rows, pasts, name) => {
    const holders = rows.filter((row) => row.state !== "waiting");
    const waiters = rows.filter((row) => row.state === "waiting");
    return [relation(name), bar(button("hold", "Hold", name)),
      section("holders", "Holders", holders.length, holders.length
        ? table("Holders", holders.slice(0, HOLDERS), (row) => row.token + " " + row.pid, [
          ["Holder", who],
          ["Mode", mode],
          ["Held for", (row) => age(row.since), true],
          ["Left", leftOf, true],
          ["Token", (row) => number(row.token), true],
          ["State", (row) => lockState(row.stop, true)],
          ["Note", (row) => orNone(row.note)],
          ...(mayAct() ? [["Action", actOnLease]] : [])])
        : empty("The name is free, as far as the database reports."),
      cut(holders.length, HOLDERS, "/api/ls.json")),
      section("waiters", "Waiters", waiters.length, waiters.length
        ? table("Waiters, in their order", waiters.slice(0, HOLDERS), (row, i) => row.owner || i, [
          ["Place", (row, i) => "#" + (i + 1)],
          ["Waiter", who],
          ["Mode", mode],
          ["Waits for", (row) => age(row.since), true],
          ["Note", (row) => orNone(row.note)]])
        : empty("No caller waits for it."), cut(waiters.length, HOLDERS, "/api/ls.json")),
      history(data, pasts, name), asJson("/api/ls.json?name=" + encodeURIComponent(name))];
  };

  // ---- jobs --------------------------------------------------------------------------------------

  const jobs = (data, rows) => list(rows, (job) => [job.name, job.state], "/api/jobs.json",
    (shown) => table("Jobs", shown, (job) => job.name, [
      ["Job", (job) => link("/job?name=", job.name)],
      ["State", (job) => state(job.state)],
      ["Next", (job) => due(job.next_run)],
      ["Running", (job) => [process(job.running_at, job.running_pid),
        job.running_since && [" ", soft("for"), " ", age(job.running_since)]]],
      ["Last", lastResult],
      ["Ended", (job) => since(job.last_finished)],
      ["Took", (job) => lasted(job.last_took_ms), true],
      ["Average", (job) => lasted(job.average_ms), true],
      ["Schedule", (job) => code(job.schedule)]]),
    noJob, "No job has such a name or state.");

  const fact = (term, ...children) => h("div", {}, h("dt", {}, term), h("dd", {}, children));
  const facts = (job) => h("dl", { class: "facts" },
    fact("State", state(job.state), job.state_since && [" since ", since(job.state_since)],
      job.paused_token && ["; paused by ", orNone(job.paused_by),
        job.paused_note && [": ", word(job.paused_note)]]),
    fact("Next run", due(job.next_run)),
    fact("Running", job.running_token
      ? [process(job.running_at, job.running_pid), " for ", age(job.running_since)]
      : soft("not now")),
    fact("Last run", lastResult(job), job.last_token && [" on ", process(job.last_node, job.last_pid),
      ", ended ", since(job.last_finished)]),
    fact("Average", lasted(job.average_ms)),
    fact("Schedule", code(job.schedule)),
    fact("Lock", link("/lock?name=", "job:" + job.name)));
  const job = (data, rows, name) => {
    const job = rows[0];
    if (!job) return empty("No node has asked for this job. ", h("a", { href: "/jobs" }, "All jobs"));
    return [facts(job), jobActions(job),
      section("output", "Last output", null, job.last_output ? lines(job.last_output)
        : empty(job.last_token ? "The last run printed nothing." : "No run has finished yet.")),
      section("history", "History", job.history.length, job.history.length
        ? table("Runs, the latest first", job.history, (run) => run.token, [
          ["Started", (run) => since(run.started)],
          ["Result", (run) => result(run.outcome, run.exit)],
          ["Took", (run) => lasted(run.took_ms), true],
          ["Node", (run) => process(run.node, run.pid)],
          ["Due", (run) => since(run.due)],
          ["Repeat", (run) => number(run.repeat), true],
          ["Token", (run) => number(run.token), true],
          ["Output", (run) => (run.output
            ? h("details", {}, h("summary", {}, "output"), lines(run.output)) : none())]])
        : empty("No run is in the history.")),
      asJson("/api/jobs.json?name=" + encodeURIComponent(name))];
  };

  // ---- subjects and history ----------------------------------------------------------------------

  const subjects = (data, rows) => list(rows,
    (row) => [row.subject, row.description, row.error], "/api/subjects.json",
    (shown) => table("Subjects", shown, (row) => row.subject, [
      ["Subject", (row) => link("/lock?name=subject%3A", row.subject)],
      ["Status", (row) => state(row.status)],
      ["Age of data", (row) => (row.age_ms !== null ? lasted(row.age_ms)
        : row.status === "COMPLETE" ? "expired" : none()), true],
      ["Last refresh", (row) => since(row.ended || row.began)],
      ["By", (row) => [process(row.host, row.pid), row.by && [" ", word(row.by)]]],
      ["About", (row) => [row.error && h("span", { class: "error" }, word(row.error)),
        row.error && row.description && h("br"),
        (row.description || !row.error) && orNone(row.description)]]]),
    () => empty("No subject was refreshed yet. Refresh data exactly once for the farm: ",
      command("rowlock refresh SUBJECT --max-age 5m -- COMMAND")),
    "No subject, description or error contains the filter.");

  const ending = (row) => (row.how === "revoked" ? "broken" : row.how);
  const pastTable = (rows, withName) => table("Endings, the latest first", rows,
    (row) => [row.name, row.token, row.ended, row.pid], [
      ...(withName ? [["Name", (row) => link("/lock?name=", row.name)]] : []),
      ["Ended", (row) => since(row.ended)],
      ["How", (row) => [pill(row.problem ? "bad" : "good", ending(row)),
        row.broken_by && [" by ", word(row.broken_by)]]],
      ["Held", (row) => lasted(row.held_ms), true],
      ["Waited", (row) => (row.waited_ms ? lasted(row.waited_ms) : none()), true],
      ["Holder", caller],
      ["Note", (row) => orNone(row.note)]]);
  const history = (data, rows, name) => {
    const title = name ? "History" : "Latest endings";
    if (rows.error) return section("history", title, null,
      empty("The history cannot be read: ", word(rows.error)));
    if (!rows.length) return section("history", title, 0,
      empty("No ended lease is kept. By default the history keeps leases that ended badly, waited " +
        "a second, or were held ten; ", command("rowlock schema set history all"),
      " keeps each one."));
    const shown = rows.filter((row) =>
      matches([row.name, row.host, row.command, row.note, ending(row)]));
    // The number in the address makes a browser load the picture again when it has changed.
    const picture = "/timeline.svg?name=" + encodeURIComponent(name) + "&v=" +
      (Date.parse(rows[0].ended) || 0);
    return section("history", title, rows.length,
      h("div", { class: "picture" }, h("img", { class: "timeline", src: picture,
        alt: "Timeline of holders and waiters" })),
      shown.length ? pastTable(shown, rows.some((row) => row.name !== name))
        : empty("No name, host, command, note or ending contains the filter."));
  };

  // ---- pages -------------------------------------------------------------------------------------

  // Each has its kind, the documents that it needs besides the overview, and its content.
  const of = (document, name) =>
    `/api/${document}.json?old=1` + (name ? "&name=" + encodeURIComponent(name) : "");
  const pages = {
    "/": { kind: "Overview", needs: () => [], draw: overview },
    "/locks": { kind: "Locks", filter: true, needs: () => [of("ls")], draw: locks },
    "/lock": { kind: "Lock", tab: "/locks", named: true, needs: (name) => [of("ls", name),
      of("log", name)], draw: lock },
    "/jobs": { kind: "Jobs", filter: true, needs: () => [of("jobs")], draw: jobs },
    "/job": { kind: "Job", tab: "/jobs", named: true, needs: (name) => [of("jobs", name)], draw: job },
    "/subjects": { kind: "Subjects", filter: true, needs: () => [of("subjects")], draw: subjects },
    "/history": { kind: "History", filter: true, needs: () => [of("log")],
      draw: (data, rows) => history(data, rows, "") },
  };
  const here = () => {
    const page = pages[location.pathname];
    const name = (page?.named && new URLSearchParams(location.search).get("name")) || "";
    if (!page || (page.named && !name))
      return { kind: "Not found", needs: [], draw: () => empty("There is no such page. ",
        h("a", { href: "/" }, "Overview")) };
    return { ...page, name, needs: page.needs(name), path: location.pathname };
  };

  const banner = (data) => (data.error || data.age_ms > OLD) && h("p", { class: "banner", id: "old" },
    "This data is ", h("strong", {}, duration(data.age_ms)), " old: ",
    data.outage || "the database is slow to answer", ".",
    data.error && [" ", h("span", { class: "why" }, word(data.error))],
    " rowlock tries again every few seconds.");
  const freshness = (data) => h("p", { class: data.error || data.age_ms > OLD ? "fresh old" : "fresh" },
    h("span", { class: "dot" }), data.error || data.age_ms > OLD ? "Old, of " : "Live, ",
    time(data.now, (ms) => local(ms - data.age_ms).slice(11)));
  const heading = (page, data) => h("div", { class: "top", "data-key": "top" },
    h("h1", {}, page.name ? [h("span", { class: "kind" }, page.kind), " ", word(page.name)] : page.kind),
    data && freshness(data));
  const noData = (error) => empty("The database has not answered since rowlock serve started: ",
    word(error), ". This page shows the state as soon as it does. ", command("rowlock doctor"),
    " examines the connection.");

  const content = (page, [data, ...documents]) => {
    if (data.error && !data.totals) return [heading(page), noData(data.error)];
    const failed = page.draw !== lock && documents.find((document) => document.error);
    now = Date.parse(data.now);
    at("version").replaceChildren("rowlock " + data.version.split(" ")[0],
      data.database ? " \u00b7 " : "", word(data.database));
    if (page.draw === lock && documents[0].error) documents[0] = [];
    return [banner(data), heading(page, data), failed && page.path !== "/history"
      ? empty("This cannot be read: ", word(failed.error))
      : page.draw(data, ...documents, page.name)];
  };

  // ---- merging a new version into the page -------------------------------------------------------

  const keyOf = (node) => (node.dataset && (node.dataset.key || node.id)) || "";
  const isSame = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

  // The old node that becomes the new one: the next one, or a later one with the same key.
  const partner = (node, next) => {
    if (!node || isSame(node, next) || !keyOf(next)) return node && isSame(node, next) ? node : null;
    while (node && !isSame(node, next)) node = node.nextSibling;
    return node;
  };
  const merge = (old, next) => {
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== next.data) old.data = next.data;
      return;
    }
    for (const { name } of [...old.attributes])
      if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    for (const { name, value } of next.attributes)
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    mergeChildren(old, [...next.childNodes]);
  };
  const mergeChildren = (parent, children) => {
    let node = parent.firstChild;
    for (const child of children) {
      const same = partner(node, child);
      while (same && node !== same) {
        const gone = node;
        node = node.nextSibling;
        gone.remove();
      }
      if (same) merge(same, child);
      else parent.insertBefore(child, node);
      node = same ? same.nextSibling : node;
    }
    while (node) {
      const gone = node;
      node = node.nextSibling;
      gone.remove();
    }
  };

  // An element that had to be made again gives its focus to the one that takes its place.
  const keepFocus = (focused) => {
    if (!focused || document.activeElement === focused) return;
    const again = focused.isConnected ? focused
      : [...main.querySelectorAll("a, button, summary, pre")].find((element) =>
        element.getAttribute("href") === focused.getAttribute("href") &&
        element.textContent === focused.textContent);
    if (again) again.focus({ preventScroll: true });
  };

  let drawn = ""; // the address of the page that is shown
  const draw = (page, documents) => {
    const focused = main.contains(document.activeElement) ? document.activeElement : null;
    const address = location.pathname + page.name;
    const children = content(page, documents).flat(3).filter((child) => child);
    if (address !== drawn) main.replaceChildren(...children);
    else mergeChildren(main, children);
    document.title = (page.name ? visible(page.name) + " - " : "") + page.kind + " - rowlock";
    for (const tab of document.querySelectorAll("nav a"))
      if (tab.getAttribute("href") === (page.tab || page.path)) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    at("filter").hidden = !page.filter;
    if (address === drawn) keepFocus(focused);
    else if (drawn) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
    drawn = address;
  };

  // ---- asking ------------------------------------------------------------------------------------

  // A token has more digits than a number of JavaScript: it becomes a text.
  const load = async (address, signal, headers) => {
    const answer = await fetch(address, { cache: "no-store", credentials: "same-origin", signal,
      headers });
    const text = await answer.text();
    if (answer.status === 401) throw new Error("login");
    return JSON.parse(text.replace(/"(\w*token)":(\d+)/g, '"$1":"$2"'));
  };
  const isSelecting = () => {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && main.contains(selection.anchorNode);
  };

  let timer = 0, asking = null;
  const plan = (ms) => {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, ms);
  };
  const refresh = async () => {
    clearTimeout(timer);
    if (asking) asking.abort();
    const mine = asking = new AbortController();
    const page = here(), limit = setTimeout(() => mine.abort(), LONGEST), began = Date.now();
    try {
      const documents = await Promise.all(["/api/overview.json", ...page.needs]
        .map((address) => load(address, mine.signal)));
      if (asking !== mine) return;
      if (!isSelecting() || location.pathname + page.name !== drawn) draw(page, documents);
      at("away").hidden = true;
    } catch (error) {
      if (asking !== mine) return;
      if (error.message === "login") {
        asking = null;
        await learnSession().catch(() => {});
        if (session.user) return plan(EVERY); // a proxy names the user: this began a new session
        drawn = "";
        main.replaceChildren(heading({ kind: "Log in" }), empty("These pages need a login. ",
          session.password && h("button", { type: "button", "data-act": "login" }, "Log in")));
        return;
      }
      at("away").hidden = false;
    } finally {
      clearTimeout(limit);
    }
    asking = null;
    plan(Math.max(EVERY, 5 * (Date.now() - began))); // a large list is asked for less often
  };

  // ---- the visitor -------------------------------------------------------------------------------

  const field = at("q");
  const arrive = () => {
    say();
    field.value = new URLSearchParams(location.search).get("q") || "";
    refresh();
  };
  addEventListener("popstate", arrive);
  at("dialog").addEventListener("close", () => at("dialog").replaceChildren()); // and its password
  document.addEventListener("visibilitychange", () => (document.hidden ? plan(0) : refresh()));
  document.addEventListener("click", (event) => {
    const element = event.target.closest("button[data-act]");
    if (element) actOn(element);
    const to = event.target.closest("a");
    if (!to || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey ||
        !pages[to.pathname] || to.origin !== location.origin || to.hash) return;
    event.preventDefault();
    window.history.pushState(null, "", to.href);
    arrive();
  });
  let typed = 0;
  field.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      const url = new URL(location.href);
      if (field.value) url.searchParams.set("q", field.value); else url.searchParams.delete("q");
      window.history.replaceState(null, "", url);
      refresh();
    }, 200);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || at("filter").hidden || /^(INPUT|TEXTAREA)$/.test(event.target.nodeName))
      return;
    event.preventDefault();
    field.focus();
  });
  learnSession().catch(() => {}).finally(arrive);
})();
