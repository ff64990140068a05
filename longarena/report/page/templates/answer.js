// The reader's own question: filters and sorts the words of report/answer/ as findings/answer.py
// does. Without it the answer to the question without conditions stands on the page.
"use strict";

if (document.getElementById("fragments")) {
  const words = JSON.parse(document.getElementById("fragments").textContent);
  const form = document.querySelector("form.question");
  const MIB = 2 ** 20;
  const SHOWN = Number(form.dataset.shown);

  const nearest = (wanted) => {
    const ratio = ({ length }) => Math.max(length / wanted, wanted / length);
    let at = 0;
    words.lengths.forEach((each, i) => {
      if (ratio(each) <= ratio(words.lengths[at])) at = i;
    });
    return at;
  };

  const read = (contest, question) => {
    const at = nearest(question.length || contest.length || 1);
    return contest.entries.map(([mechanism, value, score, hasLearnt, tied, size], index) => {
      const of = words.mechanisms[mechanism];
      const [speed, peak, cost, decoding, hasFailed] = of.costs[at];
      return { index, of, value, score, hasLearnt, tied, size, speed, peak, cost, decoding, hasFailed };
    });
  };

  // why a mechanism cannot serve; nothing if it can
  const excuse = (contest, question, entry) => {
    if (question.budget && entry.size) return entry.size;
    if (!entry.hasLearnt) return `${entry.score}, no better than an answer without a model (${contest.level}) beyond error`;
    if (question.decode && !entry.of.decodes) return [entry.decoding, entry.of.why_not].filter(Boolean).join(": ");
    if (entry.hasFailed) return entry.cost;
    if (question.memory && entry.peak > question.memory * MIB) return `above the limit of memory: ${entry.cost}`;
    return "";
  };

  const isTied = (one, other) => one.tied[other.index] === "1";

  const answer = (contest, question) => {
    const every = read(contest, question).map((entry) => ({ ...entry, excuse: excuse(contest, question, entry) }));
    const left = every.filter((entry) => !entry.excuse);
    for (const entry of left) {
      const faster = left.filter((other) => other.speed && other.speed >= words.same_speed * entry.speed);
      const ahead = left.findIndex((other) => other.value === entry.value);
      entry.byScore = isTied(left[0], entry) ? 1 : 1 + ahead;
      entry.bySpeed = entry.speed ? 1 + faster.length : null;
    }
    const key = (entry) => {
      const by = [entry.byScore, entry.bySpeed ?? left.length];
      const share = question.share;
      return [(1 - share) * by[0] + share * by[1], ...(share <= 0.5 ? by : by.reverse())];
    };
    const difference = (one, other) => {
      const [a, b] = [key(one), key(other)];
      return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
    };
    const tied = left.filter((entry) => isTied(left[0], entry));
    return { contest, question, best: left[0], tied, order: [...left].sort(difference), aside: every.filter((entry) => entry.excuse) };
  };

  const standing = ({ contest, best, tied }, entry, theBest = "the best") => {
    if (entry === best) {
      const others = tied.length - 1;
      return `${theBest}, tied with ${others ? `${others} other${others > 1 ? "s" : ""}` : "no other"}`;
    }
    const whom = `${theBest} (${best.of.title})`;
    if (tied.includes(entry)) return `tied with ${whom}`;
    return `${Math.abs(best.value - entry.value).toFixed(contest.decimals)} behind ${whom}`;
  };

  const fastest = ({ tied, order }, entry) => {
    if (!entry.bySpeed || order.length === 1) return "";
    if (entry.bySpeed === 1) return "the fastest";
    const known = tied.map((each) => each.bySpeed).filter(Boolean);
    const isFastest = tied.includes(entry) && known.length > 1 && entry.bySpeed === Math.min(...known);
    return isFastest ? `the fastest of the ${tied.length} tied` : "";
  };

  // what to take, and why
  const sentence = (found) => {
    const { contest, question, order, aside } = found;
    if (order.length === 0) {
      const isChance = aside.every((entry) => !entry.hasLearnt);
      return isChance
        ? ["Take none yet", `no mechanism is better than an answer without a model (${contest.level}) beyond error.`]
        : ["Take none", "no mechanism meets these conditions."];
    }
    const first = order[0];
    const how = [standing(found, first, contest.best), fastest(found, first)].filter(Boolean).join(" and ");
    const parts = [`${how}, ${first.score}`, first.size, first.cost, question.decode ? first.decoding : ""];
    return [`Take ${first.of.title}`, `${parts.filter(Boolean).join("; ")}.`];
  };

  const alternative = (found) => {
    const even = answer(found.contest, { ...found.question, share: 0.5 });
    const [taken, other] = [found.order[0], even.order[0]];
    if (found.question.share > 0 || !taken?.speed || other.index === taken.index) return "";
    const parts = [`${other.score}, ${standing(even, other)}`, other.size, other.cost];
    return `Where speed matters as much, take ${other.of.title}: ${parts.filter(Boolean).join("; ")}.`;
  };

  const reason = (found, entry) => {
    const places = `place ${entry.byScore} of ${found.order.length} by score, ${entry.bySpeed ?? "not measured"} by speed`;
    const parts = [`${entry.score}, ${standing(found, entry)}`, found.question.share > 0 ? places : "", entry.size];
    return [...parts.filter(Boolean), entry.cost, entry.decoding].join("; ");
  };

  const names = (titles, most = 5) => {
    const shown = titles.length > most + 1 ? [...titles.slice(0, most), `${titles.length - most} others`] : titles;
    return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown[0];
  };

  const measured = ({ contest, question, order }) => {
    const wanted = question.length || contest.length;
    const here = words.lengths[nearest(wanted || 1)];
    if (!here.length) return [here.note, words.measure];
    const unmeasured = order.filter((entry) => !entry.speed).map((entry) => entry.of.title);
    const parts = [here.note];
    let isFar = false;
    if (wanted && wanted !== here.length) {
      parts.push(`of the measured lengths the nearest to ${wanted.toLocaleString("en")}`);
      isFar = Math.max(wanted / here.length, here.length / wanted) > words.far;
    }
    if (unmeasured.length) parts.push(`not measured: ${names(unmeasured)}`);
    const lengths = words.lengths.map((each) => each.length);
    if (isFar) lengths.push(wanted);
    const command = `${words.measure} --lengths ${lengths.sort((a, b) => a - b).join(",")}`;
    return [parts.join("; "), isFar || unmeasured.length ? command : ""];
  };

  const notes = (found) => {
    const { contest, question } = found;
    const lines = [[contest.note, ""], measured(found)];
    if (question.length && contest.length && question.length > words.far * contest.length) {
      lines.push([`No score is of examples of ${question.length.toLocaleString("en")} tokens; ask your own data`, words.own_data]);
    }
    if (question.decode && !words.has_generation) lines.push(["What each carries from token to token was not measured", words.generate]);
    if (contest.missing.words) lines.push([contest.missing.words, contest.missing.command]);
    return lines;
  };

  const make = (tag, text, kind = "") => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  const item = (title, family, text) => {
    const line = document.createElement("li");
    line.append(make("strong", title), ...(family ? [" ", make("span", family, "family")] : []), make("p", text));
    return line;
  };

  const fill = (name, items) => {
    const list = document.getElementById(`answer-${name}`);
    list.replaceChildren(...items);
    const box = list.closest("details");
    if (!box) return;
    box.hidden = items.length === 0;
    box.querySelector("summary span").textContent = items.length;
  };

  const show = (found) => {
    const [take, why] = sentence(found);
    document.getElementById("answer-sentence").replaceChildren(make("strong", take), `: ${why}`);
    document.getElementById("answer-other").textContent = alternative(found);
    const ranked = found.order.map((entry) => item(entry.of.title, entry.of.family, reason(found, entry)));
    fill("order", ranked.slice(0, SHOWN));
    fill("rest", ranked.slice(SHOWN));
    fill("aside", found.aside.map((entry) => item(entry.of.title, entry.of.family, entry.excuse)));
    fill("absent", found.contest.missing.absent.map(({ title, why }) => item(title, "", why)));
    fill("notes", notes(found).map(([text, command]) => {
      const line = make("li", command ? `${text}: ` : `${text}.`);
      if (command) line.append(make("code", command, "all"));
      return line;
    }));
  };

  // the form as a value, and as what follows #answer? in the address, so that an answer can be sent
  const fields = form.elements;
  const asked = () => ({
    like: fields.like.value,
    length: fields.tokens.value === "" ? null : Math.max(1, Math.round(Number(fields.tokens.value))),
    memory: fields.memory.value === "" ? null : Number(fields.memory.value),
    decode: fields.decode.checked,
    budget: fields.budget.checked,
    share: Number(fields.speed.value) / Number(fields.speed.max),
  });

  const MATTERS = form.dataset.matters.split("|");

  const update = () => {
    const question = asked();
    const contest = words.contests.find(({ name }) => name === question.like) ?? words.contests[0];
    fields.tokens.placeholder = contest.length ?? "";
    fields.speed.setAttribute("aria-valuetext", MATTERS[fields.speed.value]);
    form.querySelector("output").textContent = MATTERS[fields.speed.value];
    show(answer(contest, question));
  };

  const PREFIX = "#answer?";

  const remember = () => {
    const found = new URLSearchParams();
    for (const field of fields) {
      const isBox = field.type === "checkbox";
      const [value, usual] = isBox ? [field.checked, field.defaultChecked] : [field.value, field.dataset.usual ?? ""];
      if (field.name && value !== usual) found.set(field.name, isBox ? "yes" : value);
    }
    history.replaceState(null, "", found.size ? `${PREFIX}${found}` : "#answer");
  };

  const recall = () => {
    if (!location.hash.startsWith(PREFIX)) return;
    const found = new URLSearchParams(location.hash.slice(PREFIX.length));
    for (const field of fields) {
      if (field.type === "checkbox") field.checked = found.get(field.name) === "yes";
      else if (field.name) field.value = found.get(field.name) ?? field.dataset.usual ?? "";
    }
    // a name that no contest has
    if (fields.like.selectedIndex === -1) fields.like.selectedIndex = 0;
    update();
    document.getElementById("answer").scrollIntoView();
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { update(); remember(); });
  form.addEventListener("reset", () => setTimeout(() => { update(); remember(); }));
  addEventListener("hashchange", recall);
  update();
  recall();
}
