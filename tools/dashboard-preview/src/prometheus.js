// Asks Prometheus what a panel asks, and gives the answers as Grafana's data frames.
import { FieldType, toDataFrame } from '@grafana/data';

const MOST_POINTS = 240;

export function view(parameters) {
  const to = Number(parameters.get('to'));
  const range = Number(parameters.get('range'));
  const scrape = Number(parameters.get('scrape'));
  return { url: parameters.get('prom'), from: to - range, to, range, scrape, step: Math.max(scrape, Math.ceil(range / MOST_POINTS)), variables: {} };
}

// What Grafana fills in. The rate interval is its own rule: at least four scrapes.
export function interpolated(text, v) {
  const own = { __rate_interval: `${Math.max(v.step + v.scrape, 4 * v.scrape)}s`, __range: `${v.range}s`, ...v.variables };
  return text.replace(/\$\{?(\w+)(?::\w+)?\}?/g, (whole, name) => own[name] ?? whole);
}

async function ask(v, path, parameters) {
  const response = await fetch(`${v.url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
  const answer = await response.json();
  if (answer.status !== 'success') throw new Error(answer.error);
  return answer.data;
}

const legend = (format, labels) => (format || '').replace(/\{\{\s*(\w+)\s*\}\}/g, (_, key) => labels[key] ?? '');

function column(target, labels, values) {
  return { name: 'Value', type: FieldType.number, labels, config: { displayNameFromDS: legend(target.legendFormat, labels) || undefined }, values };
}

function asTable(target, result) {
  const keys = [...new Set(result.flatMap((series) => Object.keys(series.metric)))].filter((key) => key !== '__name__');
  const texts = keys.map((key) => ({ name: key, type: FieldType.string, values: result.map((series) => series.metric[key] ?? '') }));
  const numbers = { name: `Value #${target.refId}`, type: FieldType.number, values: result.map((series) => Number(series.value[1])) };
  const times = { name: 'Time', type: FieldType.time, values: result.map((series) => series.value[0] * 1000) };
  return [toDataFrame({ refId: target.refId, fields: [times, ...texts, numbers] })];
}

function asPoint(target, series) {
  const times = { name: 'Time', type: FieldType.time, values: [series.value[0] * 1000] };
  return toDataFrame({ refId: target.refId, fields: [times, column(target, series.metric, [Number(series.value[1])])] });
}

function asCourse(target, series, v) {
  const found = new Map(series.values.map(([at, value]) => [Math.round(at), Number(value)]));
  const times = [];
  for (let at = v.from; at <= v.to; at += v.step) times.push(at);
  const values = times.map((at) => (Number.isFinite(found.get(at)) ? found.get(at) : null));
  const time = { name: 'Time', type: FieldType.time, values: times.map((at) => at * 1000) };
  return toDataFrame({ refId: target.refId, fields: [time, column(target, series.metric, values)] });
}

async function answered(target, v) {
  const query = interpolated(target.expr, v);
  if (target.instant) {
    const { result } = await ask(v, 'query', { query, time: v.to });
    return target.format === 'table' ? asTable(target, result) : result.map((series) => asPoint(target, series));
  }
  const { result } = await ask(v, 'query_range', { query, start: v.from, end: v.to, step: v.step });
  return result.map((series) => asCourse(target, series, v));
}

export async function frames(panel, v) {
  return (await Promise.all(panel.targets.map((target) => answered(target, v)))).flat();
}

// Per slice of the time axis the greatest value, as a screen has room for no more.
export async function exemplars(panel, v) {
  const slices = new Map();
  for (const target of panel.targets.filter((each) => each.exemplar)) {
    const series = await ask(v, 'query_exemplars', { query: interpolated(target.expr, v), start: v.from, end: v.to });
    for (const { timestamp, value } of series.flatMap((each) => each.exemplars)) {
      const slice = Math.floor(((timestamp - v.from) / v.range) * 60);
      const kept = slices.get(slice);
      if (!kept || kept.value < Number(value)) slices.set(slice, { at: timestamp * 1000, value: Number(value) });
    }
  }
  return [...slices.values()];
}
