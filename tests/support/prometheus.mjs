// A strict reader of Prometheus' text form 0.0.4: heads before samples, a family in one place, no sample twice, buckets
// that add up. Throws on anything else.
import assert from "node:assert/strict";

const kName = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const kSample = new RegExp(`^(${kName})(?:\\{(.*)\\})? (NaN|[+-]?Inf|[+-]?[0-9.]+(?:e[+-]?[0-9]+)?)$`);
const kLabel = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/;

function labelsOf(text, line) {
  const labels = {};
  while (text) {
    const found = text.match(kLabel);
    assert.ok(found, `labels of: ${line}`);
    assert.ok(!(found[1] in labels), `twice the label ${found[1]}: ${line}`);
    labels[found[1]] = found[2].replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    text = text.slice(found[0].length);
  }
  return labels;
}

function number(text) {
  return text === "NaN" ? NaN : text.endsWith("Inf") ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);
}

const key = (labels) => JSON.stringify(Object.entries(labels).sort());

function checkHistogram(name, samples) {
  const series = {};
  for (const { suffix, labels, value } of samples) {
    const { le, ...rest } = labels;
    const one = (series[key(rest)] ??= { buckets: [] });
    if (suffix === "_bucket") one.buckets.push({ le: number(le), value });
    else one[suffix] = value;
  }
  for (const one of Object.values(series)) {
    assert.equal(one.buckets.at(-1)?.le, Infinity, `${name} ends with a bucket for all`);
    assert.equal(one.buckets.at(-1).value, one._count, `${name}: the last bucket holds all`);
    assert.ok("_sum" in one, `${name} has a sum`);
    for (let i = 1; i < one.buckets.length; ++i) {
      assert.ok(one.buckets[i].le > one.buckets[i - 1].le && one.buckets[i].value >= one.buckets[i - 1].value, `${name}: buckets ascend`);
    }
  }
}

// {family: {type, samples: [{suffix, labels, value}]}}
export function parse(text) {
  assert.ok(text.endsWith("\n"), "the last line ends");
  const families = {};
  let current = null;
  for (const line of text.slice(0, -1).split("\n")) {
    const head = line.match(new RegExp(`^# (HELP|TYPE) (${kName}) (.+)$`));
    if (head) {
      const [, what, name, rest] = head;
      if (what === "HELP") {
        assert.ok(!(name in families), `twice the family ${name}`);
        families[name] = { samples: [], seen: new Set() };
        current = name;
      } else {
        assert.equal(name, current, "the type stands behind the help");
        assert.match(rest, /^(counter|gauge|histogram)$/);
        families[name].type = rest;
      }
      continue;
    }
    const found = line.match(kSample);
    assert.ok(found, `no sample: ${line}`);
    const family = families[current];
    assert.ok(family?.type && found[1].startsWith(current), `${found[1]} stands among ${current}`);
    const sample = { suffix: found[1].slice(current.length), labels: labelsOf(found[2] ?? "", line), value: number(found[3]) };
    assert.match(sample.suffix, family.type === "histogram" ? /^_(bucket|sum|count)$/ : /^$/, line);
    assert.ok(family.type === "gauge" || sample.value >= 0, `counts don't go below zero: ${line}`);
    const identity = sample.suffix + key(sample.labels);
    assert.ok(!family.seen.has(identity), `twice: ${line}`);
    family.seen.add(identity);
    family.samples.push(sample);
  }
  for (const [name, family] of Object.entries(families)) if (family.type === "histogram") checkHistogram(name, family.samples);
  return families;
}

// The value of the one sample with these labels (others may be there, too).
export function value(families, name, labels = {}, suffix = "") {
  const found = families[name]?.samples.filter(
    (sample) => sample.suffix === suffix && Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  assert.equal(found?.length, 1, `one sample ${name}${suffix} ${JSON.stringify(labels)}`);
  return found[0].value;
}
