// What a grammar lets through validates against its schema: thousands of random answers under random schemas, judged by
// ajv. No model takes part; the program prints texts of the grammar itself.
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import test from 'node:test';

import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { randomFrom } from '../support/random.mjs';

const program = process.env.CORRAL_SCHEMA_SAMPLES;
const kSeeds = Number(process.env.CORRAL_SCHEMA_ANSWERS ?? 20); // for each schema

function samples(schemas) {
  const input = schemas.map((schema) => JSON.stringify(schema)).join('\n') + '\n';
  const ran = spawnSync(program, [String(kSeeds)], { input, encoding: 'utf8', maxBuffer: 1 << 30 });
  assert.equal(ran.status, 0, ran.stderr);
  return ran.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
}

// Without a precision 0.3 is no multiple of 0.1 for ajv.
const ajv = new Ajv({ strict: false, allErrors: false, multipleOfPrecision: 3 });
addFormats(ajv);

// Answers of the texts, all of them JSON; where everything is enforced all of them are valid.
function check(schema, made) {
  const shown = JSON.stringify(schema);
  assert.equal(made.grammar_error, undefined, `${shown}: ${made.grammar_error}`);
  if (made.error !== undefined) return { refused: true };
  const validate = ajv.compile(schema);
  for (const text of made.texts) {
    let value;
    assert.doesNotThrow(() => (value = JSON.parse(text)), `${shown}: not JSON: ${text}`);
    if (made.unenforced.length === 0) {
      assert.ok(validate(value), `${shown}: ${text}: ${ajv.errorsText(validate.errors)}`);
    }
  }
  return { enforced: made.unenforced.length === 0, texts: made.texts.length };
}

const kPatterns = [
  '^.{20}$', '^[^#]{20}$', '^[^"]+$', '\\d', '^\\d{3}-\\d{4}$', '^\\w+$', '\\s', '^\\S+$', '^\\D*$', '^\\W{2,5}$', 'abc', '^abc', 'abc$',
  '^(a|b)*$', '^[A-Z][a-z]+( [A-Z][a-z]+)*$', '^(?=.*\\d)(?=.*[a-z]).{6,12}$', '^(?!admin)[a-z]{4,9}$', '^$', '^\\u00e9+$', '^[\\s\\S]{3}$',
  '[\\\\"/]', '^\\\\$', '^"$', '^\\n\\t$', '^[\\x00-\\x1f]{2}$', '^(?:https?://)[^\\s/]+/?$', '^#?([a-f0-9]{6}|[a-f0-9]{3})$', 'x|^y|z$', '^[^]{2}$',
  '^.*$', '^[a-z]+@[a-z]+\\.(com|org)$', '^\\u{1F600}$',
];
const kFormats = ['date', 'time', 'date-time', 'uuid', 'ipv4', 'ipv6', 'email', 'hostname', 'uri', 'uri-reference', 'uri-template', 'json-pointer', 'relative-json-pointer', 'regex', 'duration', 'byte'];

function makeSchema(next, depth) {
  const { below, pick, chance } = next;
  const maybe = (share, fields) => (chance(share) ? fields() : {});
  const inner = () => makeSchema(next, depth - 1);
  const number = () => pick([below(2000) - 1000, (below(20000) - 10000) / 100, below(100), 0, 0.5, -1.25, 1e6, 1e-3]);
  const range = (names) => {
    const bounds = [number(), number()].sort((a, b) => a - b);
    return { ...maybe(0.7, () => ({ [names[below(2)]]: bounds[0] })), ...maybe(0.7, () => ({ [names[2 + below(2)]]: bounds[1] + 2 })) };
  };
  const names = ['a', 'b', 'name', 'né', 'with "quotes"', 'x y', 'a/b', ''];
  const kinds = {
    string: () => ({
      type: 'string', ...maybe(0.4, () => ({ pattern: pick(kPatterns) })), ...maybe(0.15, () => ({ format: pick(kFormats) })),
      ...maybe(0.3, () => ({ minLength: below(5) })), ...maybe(0.3, () => ({ maxLength: 5 + below(30) })),
    }),
    integer: () => ({ type: 'integer', ...range(['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum']), ...maybe(0.2, () => ({ multipleOf: 1 + below(12) })) }),
    number: () => ({ type: 'number', ...range(['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum']), ...maybe(0.1, () => ({ multipleOf: 1 + below(5) })) }),
    constant: () => pick([{ const: pick([1, 'x', null, true, { a: [1] }]) }, { enum: ['a', 'b"', 3, null, false] }, { type: 'string', enum: ['a', 'bb', 'ccc'], minLength: 2 }]),
    simple: () => pick([{ type: 'boolean' }, { type: 'null' }, { type: ['string', 'null'] }, { type: ['integer', 'boolean'] }, {}, true]),
    object: () => {
      const properties = Object.fromEntries(names.filter(() => chance(0.4)).map((name) => [name, inner()]));
      const given = Object.keys(properties);
      return {
        type: 'object', properties, ...maybe(0.7, () => ({ required: given.filter(() => chance(0.5)) })),
        ...maybe(0.4, () => ({ additionalProperties: pick([true, false, inner()]) })), ...maybe(0.2, () => ({ minProperties: below(3) })),
        ...maybe(0.2, () => ({ maxProperties: given.length })),
      };
    },
    map: () => ({
      type: 'object', ...maybe(0.5, () => ({ additionalProperties: inner() })), ...maybe(0.3, () => ({ required: ['k'] })),
      ...maybe(0.3, () => ({ patternProperties: { '^x-': inner(), ...maybe(0.3, () => ({ '\\d$': inner() })) } })),
      ...maybe(0.3, () => ({ propertyNames: { pattern: '^[a-z0-9-]+$', maxLength: 8 } })), ...maybe(0.3, () => ({ minProperties: below(2) })),
      ...maybe(0.2, () => ({ maxProperties: 1 + below(3) })),
    }),
    array: () => ({ type: 'array', items: inner(), ...maybe(0.4, () => ({ minItems: below(3) })), ...maybe(0.4, () => ({ maxItems: 2 + below(3) })) }),
    tuple: () => ({ type: 'array', prefixItems: [inner(), inner()], ...maybe(0.5, () => ({ items: pick([false, inner()]) })), ...maybe(0.4, () => ({ minItems: 2 + below(2) })) }),
    any: () => ({ anyOf: [inner(), inner()] }),
    one: () => ({ oneOf: [{ type: 'object', properties: { kind: { const: 'a' }, v: inner() }, required: ['kind', 'v'] }, { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] }, { type: 'null' }] }),
    all: () => ({ allOf: [{ type: 'object', properties: { a: inner() }, required: ['a'] }, { properties: { b: inner(), a: true }, required: ['b'] }] }),
    beside: () => ({ type: 'object', properties: { a: inner(), b: inner(), c: inner() }, anyOf: [{ required: ['a'] }, { required: ['b', 'c'] }] }),
    dependent: () => ({ type: 'object', properties: { a: inner(), b: inner() }, dependentRequired: { a: ['b'] } }),
    recursive: () => ({ type: 'object', properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/leaf' }, { type: 'null' }] } }, required: ['value', 'next'] }),
    negated: () => ({ ...inner(), not: pick([{ type: 'null' }, { const: 1 }, { enum: ['a', true] }, { required: ['a'] }, { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }]) }),
    either: () => ({ oneOf: [inner(), inner()] }),
    conditional: () => ({ type: 'object', properties: { a: inner(), b: inner() }, if: { properties: { a: inner() } }, then: { required: ['b'] }, else: { properties: { b: false } } }),
    some: () => ({ type: 'array', contains: inner(), maxItems: 3, ...maybe(0.3, () => ({ maxContains: 2 })), ...maybe(0.3, () => ({ items: inner() })) }),
    distinct: () => ({ type: 'array', uniqueItems: true, items: { enum: [1, 'a', null, true, [1]] }, ...maybe(0.5, () => ({ minItems: 2 })) }),
    shut: () => ({ type: 'object', properties: { a: inner() }, anyOf: [{ properties: { b: inner() } }, { required: ['c'] }], unevaluatedProperties: pick([false, inner()]) }),
    rare: () => pick([{ type: 'array', uniqueItems: true }, { not: { type: 'null' } }, { type: 'number', multipleOf: 0.1 }, { type: 'string', pattern: '\\bx' }, { if: { type: 'string' }, then: { minLength: 2 } }]),
  };
  const deep = Object.keys(kinds);
  const flat = ['string', 'integer', 'number', 'constant', 'simple', 'string', 'integer', 'number'];
  return kinds[pick(depth > 0 ? deep : flat)]();
}

test('answers under generated schemas validate', () => {
  const next = randomFrom(25);
  const schemas = [];
  for (let i = 0; i < 700; ++i) {
    const schema = makeSchema(next, 3);
    if (schema !== true) schemas.push({ ...schema, $defs: { leaf: { type: 'object', properties: { next: { anyOf: [{ $ref: '#/$defs/leaf' }, { type: 'boolean' }] } }, required: ['next'] } } });
  }
  const checked = samples(schemas).map((made, i) => check(schemas[i], made));
  const enforced = checked.filter((one) => one.enforced);
  assert.ok(enforced.length >= 550, `${enforced.length} of ${schemas.length} are enforced`);
  const refused = checked.filter((one) => one.refused).length;
  assert.ok(refused <= 40, `${refused} of ${schemas.length} are refused`);
  const texts = enforced.reduce((sum, one) => sum + one.texts, 0);
  assert.ok(texts >= enforced.length * kSeeds * 0.9, `${texts} texts of ${enforced.length} schemas`);
});

test('every pattern and format by itself', () => {
  const schemas = [
    ...kPatterns.map((pattern) => ({ type: 'string', pattern })),
    ...kPatterns.map((pattern) => ({ type: 'string', pattern, maxLength: 25 })),
    ...kFormats.map((format) => ({ type: 'string', format })),
  ];
  samples(schemas).forEach((made, i) => {
    const { enforced, texts } = check(schemas[i], made);
    assert.ok(enforced && texts > 0, `${JSON.stringify(schemas[i])}: ${JSON.stringify(made)}`);
  });
});

test('what has not a format lacks it for a validator, too', () => {
  // ajv takes any text with an empty line for "byte".
  const schemas = kFormats.filter((format) => format !== 'byte').flatMap((format) => [
    { type: 'string', not: { format } },
    { type: 'string', oneOf: [{ format }, { maxLength: 12 }] },
    { type: 'string', minLength: 3, if: { format }, then: { maxLength: 3 }, else: { minLength: 8 } },
  ]);
  const checked = samples(schemas).map((made, i) => check(schemas[i], made));
  const enforced = checked.filter((one) => one.enforced).length;
  assert.ok(enforced >= 0.8 * schemas.length, `${enforced} of ${schemas.length} are enforced`);
});

test('schemas that SDKs make, and the examples of bug reports', () => {
  const node = { type: 'object', properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } }, required: ['value', 'children'], additionalProperties: false };
  const schemas = [
    node,
    { $defs: { n: { type: 'object', properties: { next: { anyOf: [{ $ref: '#/$defs/n' }, { type: 'null' }] } }, required: ['next'] } }, $ref: '#/$defs/n' },
    { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
    { anyOf: [{ $ref: '#/definitions/x~1y' }], definitions: { 'x/y': { type: 'integer', minimum: 3, maximum: 4 } } },
    { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
    { type: 'number', exclusiveMinimum: 5, maximum: 5.5 },
    { type: 'number', minimum: -1.7976931348623157e308, maximum: 1.7976931348623157e308 },
    { type: 'string', minLength: 2500, maxLength: 2600 },
    { type: 'array', items: { type: 'null' }, minItems: 1001, maxItems: 1100 },
    { type: 'object', properties: { id: { type: 'string', format: 'uuid' } }, required: ['id', 'extra'] },
    { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1 },
    { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: { type: 'string' } },
    { type: 'object', additionalProperties: { $ref: '#', maxProperties: 2 } },
    { oneOf: [{ type: 'string', maxLength: 3 }, { type: 'number', minimum: 1 }] },
    { type: 'string', enum: ['a\n', '"', '\\', '\u0001', '😀'] },
    {},
    true,
    { type: 'number' },
    { type: 'object' },
  ];
  samples(schemas).forEach((made, i) => {
    const { enforced } = check(schemas[i], made);
    assert.ok(enforced, `${JSON.stringify(schemas[i])}: ${JSON.stringify(made.unenforced ?? made)}`);
  });
});

test('what is not enforced is named with its place', () => {
  const rows = [
    [{ type: 'array', uniqueItems: true }, 'uniqueItems', '#/uniqueItems'],
    [{ properties: { 'a/b': { type: 'number', not: { multipleOf: 3 } } } }, 'not', '#/properties/a~1b/not'],
    [{ type: 'number', multipleOf: 0.12345 }, 'multipleOf', '#/multipleOf'],
    [{ $ref: '#/$defs/x', $defs: { x: { type: 'string', pattern: '\\bx' } } }, 'pattern', '#/$defs/x/pattern'],
    [{ type: 'string', pattern: '(?<=a)b' }, 'pattern', '#/pattern'],
    [{ type: 'string', pattern: '^(.)\\1$' }, 'pattern', '#/pattern'],
    [{ type: 'string', format: 'color' }, 'format', '#/format'],
    [{ if: { multipleOf: 3 }, then: { minimum: 1 } }, 'if', '#/if'],
    [{ type: 'array', contains: { type: 'string' }, allOf: [{ contains: { type: 'null' } }] }, 'contains', '#/contains'],
    [{ oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }, 'oneOf', '#/oneOf'],
    [{ type: 'object', minProperties: 3 }, 'minProperties', '#/minProperties'],
  ];
  samples(rows.map(([schema]) => schema)).forEach((made, i) => {
    const [schema, keyword, pointer] = rows[i];
    const found = made.unenforced?.find((one) => one.keyword === keyword);
    assert.equal(found?.pointer, pointer, `${JSON.stringify(schema)}: ${JSON.stringify(made.unenforced ?? made)}`);
  });
});

test('what means nothing, or fits no value, is refused', () => {
  const schemas = [
    false, { $ref: '#/nope' }, { $ref: 'http://x/y' }, { $ref: '#' }, { type: 'banana' }, { type: 'string', minLength: 'x' }, { anyOf: [] },
    { type: 'string', minLength: 3, maxLength: 2 }, { type: 'integer', minimum: 3, maximum: 2 }, { type: 'string', pattern: '^a$', minLength: 2 },
    { type: 'string', pattern: '((a' }, { type: 'string', pattern: 'a{2000000000,}' }, { type: 'array', minItems: 2_000_000_000 }, { type: 'string', minLength: 2_000_000 },
    { type: 'object', properties: { a: false }, required: ['a'] }, { allOf: [{ type: 'string' }, { type: 'null' }] }, { properties: [] },
  ];
  samples(schemas).forEach((made, i) => assert.ok(made.error, `${JSON.stringify(schemas[i])}: ${JSON.stringify(made)}`));
});
