// A dashboard's JSON as a page. What went wrong, and where each panel lies, is left in window.preview for the gate.
import { createTheme, dateTime, ThemeContext } from '@grafana/data';
import { GlobalStyles, PanelChrome, PortalContainer } from '@grafana/ui';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { Heatmap, StateTimeline } from './drawn.jsx';
import { finished, points } from './fields.js';
import { Stat, Table } from './numbers.jsx';
import { exemplars, frames, view } from './prometheus.js';
import { TimeSeries } from './timeseries.jsx';

const CELL = 38; // Grafana's grid: 30 pixels and a gap of 8
const GAP = 8;
const HEAD = 64;
const KINDS = { heatmap: Heatmap, stat: Stat, 'state-timeline': StateTimeline, table: Table, timeseries: TimeSeries };
const NOTE = "Preview rendered with Grafana's UI library from a run of the demo; not a Grafana server.";

const theme = createTheme({ colors: { mode: 'dark' } });
const v = view(new URLSearchParams(location.search));
v.timeRange = { from: dateTime(v.from * 1000), to: dateTime(v.to * 1000), raw: { from: dateTime(v.from * 1000), to: dateTime(v.to * 1000) } };
window.preview = { expected: 0, panels: {}, problems: [] };

async function load(panel) {
  const data = await finished(panel, await frames(panel, v), theme);
  return { data, points: points(data), exemplars: await exemplars(panel, v) };
}

function Panel({ panel, unit }) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    load(panel).then(setFound).catch((error) => window.preview.problems.push(`${panel.title}: ${error}`));
  }, []);
  useEffect(() => {
    if (found) window.preview.panels[panel.id] = { title: panel.title, points: found.points, exemplars: found.exemplars.length };
  }, [found]);
  const { x, y, w, h } = panel.gridPos;
  const [width, height] = [w * unit - GAP, h * CELL - GAP];
  const Kind = KINDS[panel.type];
  return (
    <div data-panel={panel.title} style={{ position: 'absolute', left: x * unit + GAP, top: y * CELL + HEAD, width, height }}>
      <PanelChrome title={panel.title} description={panel.description} width={width} height={height}>
        {(inner, tall) => found && (found.points ? <Kind panel={panel} {...found} v={v} theme={theme} width={inner} height={tall} /> : <div>{panel.fieldConfig.defaults.noValue || 'No data'}</div>)}
      </PanelChrome>
    </div>
  );
}

function Head({ board }) {
  const choices = board.templating.list.filter((each) => each.type === 'query').map((each) => `${each.label}: All`);
  return (
    <div style={{ position: 'absolute', top: 12, left: 16, right: 16, display: 'flex', gap: 24, alignItems: 'baseline' }}>
      <span style={{ fontSize: 20, fontWeight: 500 }}>{board.title}</span>
      <span style={{ color: theme.colors.text.secondary }}>{choices.join('   ')}</span>
      <span style={{ color: theme.colors.text.secondary, marginLeft: 'auto' }}>{NOTE}</span>
    </div>
  );
}

function Board({ board }) {
  const unit = (innerWidth - 2 * GAP) / 24;
  const bottom = Math.max(...board.panels.map(({ gridPos }) => (gridPos.y + gridPos.h) * CELL)) + HEAD + GAP;
  const { fontFamily } = theme.typography;
  return (
    <div id="board" style={{ position: 'relative', height: bottom, background: theme.colors.background.canvas, color: theme.colors.text.primary, fontFamily, fontSize: 14 }}>
      <Head board={board} />
      {board.panels.map((panel) => panel.type === 'row'
        ? <div key={panel.id} style={{ position: 'absolute', top: panel.gridPos.y * CELL + HEAD + 6, left: 16, fontSize: 16, fontWeight: 500 }}>{panel.title}</div>
        : <Panel key={panel.id} panel={panel} unit={unit} />)}
    </div>
  );
}

const board = await (await fetch('board.json')).json();
for (const each of board.templating.list) if (each.includeAll) v.variables[each.name] = each.allValue;
window.preview.expected = board.panels.filter((panel) => panel.type !== 'row').length;
createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}><GlobalStyles /><Board board={board} /><PortalContainer /></ThemeContext.Provider>,
);
