// Two panels that Grafana does not publish, drawn by hand: the heatmap and the state timeline.
import { formattedValueToString, getFieldDisplayName, getValueFormat } from '@grafana/data';
import { useEffect, useRef } from 'react';

import { numbers } from './fields.js';

const LEFT = 80;
const BOTTOM = 20;
const NAME = 170;

const clock = (ms) => new Date(ms).toISOString().slice(11, 16);

function hours(context, v, left, width, y, theme) {
  context.fillStyle = theme.colors.text.secondary;
  context.font = `12px ${theme.typography.fontFamily}`;
  const every = [60, 120, 300, 600, 900].find((seconds) => ((width / v.range) * seconds) > 60) || 3600;
  for (let at = Math.ceil(v.from / every) * every; at < v.to; at += every) {
    const x = left + ((at - v.from) / v.range) * width - 15;
    if (x + 32 < left + width) context.fillText(clock(at * 1000), x, y);
  }
}

function drawnOnce(draw, dependencies) {
  const canvas = useRef(null);
  useEffect(() => draw(canvas.current.getContext('2d')), dependencies);
  return canvas;
}

// Buckets of Prometheus count everything up to their bound; a cell is what its own bucket adds.
function cells(data) {
  const bound = (field) => Number(field.labels.le.replace('+Inf', 'Infinity'));
  const buckets = numbers(data).map(({ field }) => field).sort((a, b) => bound(a) - bound(b));
  return buckets.map((field, place) => ({
    bound: bound(field),
    values: field.values.map((value, i) => Math.max(0, (value ?? 0) - (place ? buckets[place - 1].values[i] ?? 0 : 0))),
  }));
}

export function Heatmap({ panel, data, v, theme, width, height }) {
  const canvas = drawnOnce((context) => {
    const rows = cells(data);
    const most = Math.max(...rows.flatMap((row) => row.values));
    const [w, h] = [(width - LEFT) / rows[0].values.length, (height - BOTTOM) / rows.length];
    rows.forEach((row, place) => row.values.forEach((value, i) => {
      if (value <= 0) return;
      const share = Math.sqrt(value / most);
      context.fillStyle = `hsl(${20 + 25 * share}, 90%, ${22 + 50 * share}%)`;
      context.fillRect(LEFT + i * w, height - BOTTOM - (place + 1) * h, Math.ceil(w), Math.ceil(h) - 1);
    }));
    context.fillStyle = theme.colors.text.secondary;
    context.font = `12px ${theme.typography.fontFamily}`;
    const every = Math.ceil(16 / h);
    rows.forEach((row, place) => {
      if (place % every) return;
      const text = row.bound === Infinity ? '+Inf' : formattedValueToString(getValueFormat(panel.options.yAxis.unit)(row.bound));
      context.fillText(text, 0, height - BOTTOM - place * h - 2);
    });
    hours(context, v, LEFT, width - LEFT, height - 4, theme);
  }, [data, width, height]);
  return <canvas ref={canvas} width={width} height={height} />;
}

export function StateTimeline({ data, v, theme, width, height }) {
  const canvas = drawnOnce((context) => {
    const rows = numbers(data);
    const [h, wide] = [(height - BOTTOM) / rows.length, width - NAME];
    context.font = `13px ${theme.typography.fontFamily}`;
    rows.forEach(({ frame, field }, place) => {
      const [top, thick] = [place * h + h * 0.1, Math.min(h * 0.8, 34)];
      context.fillStyle = theme.colors.text.primary;
      context.fillText(getFieldDisplayName(field, frame, data), 0, top + thick / 2 + 5);
      const { values } = field;
      for (let from = 0, to = 0; from < values.length; from = to) {
        for (to = from + 1; to < values.length && values[to] === values[from]; ) to += 1;
        if (values[from] === null) continue;
        const { text, color } = field.display(values[from]);
        const [x, w] = [NAME + (from / values.length) * wide, ((to - from) / values.length) * wide];
        context.fillStyle = `${color}cc`;
        context.fillRect(x, top, Math.max(w - 1, 1), thick);
        context.fillStyle = theme.colors.getContrastText(color);
        if (context.measureText(text).width + 8 < w) context.fillText(text, x + 5, top + thick / 2 + 5);
      }
    });
    hours(context, v, NAME, wide, height - 4, theme);
  }, [data, width, height]);
  return <canvas ref={canvas} width={width} height={height} />;
}
