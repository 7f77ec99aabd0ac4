// Lines over time on Grafana's own chart; stacking and exemplar marks are ours, as Grafana does not publish its panel.
import { FieldType, getDisplayProcessor, getFieldDisplayName, outerJoinDataFrames, reduceField } from '@grafana/data';
import { AxisPlacement, GraphDrawStyle, LegendDisplayMode, ScaleDirection, ScaleOrientation, StackingMode, VisibilityMode } from '@grafana/schema';
import { UPlotChart, UPlotConfigBuilder, VizLegend } from '@grafana/ui';

const TITLES = { lastNotNull: 'Last *', max: 'Max' };
const ROW = 23;
const LINE = 28;
const MOST_LEGEND = 0.45; // of the panel's height; Grafana has 0.35 and scrolls, which a picture cannot
const BINARY = Array.from({ length: 53 }, (_, power) => 2 ** power); // Grafana's steps of an axis in bytes

const colourOf = (field, place, theme) => {
  const { mode, fixedColor } = field.config.color || {};
  const { palette } = theme.visualization;
  return theme.visualization.getColorByName(mode === 'fixed' ? fixedColor : palette[place % palette.length]);
};

const formatter = (field, theme) => {
  const display = field.display || getDisplayProcessor({ field, theme });
  return (value, decimals) => {
    const { prefix, text, suffix } = display(value, decimals);
    return `${prefix || ''}${text}${suffix || ''}`;
  };
};

function axes(builder, field, v, theme) {
  const { custom = {}, thresholds, min, max, unit } = field.config;
  builder.addScale({ scaleKey: 'x', orientation: ScaleOrientation.Horizontal, direction: ScaleDirection.Right, isTime: true, range: () => [v.from * 1000, v.to * 1000] });
  builder.addAxis({ scaleKey: 'x', isTime: true, placement: AxisPlacement.Bottom, timeZone: 'utc', theme, grid: { show: true } });
  builder.addScale({ scaleKey: 'y', orientation: ScaleOrientation.Vertical, direction: ScaleDirection.Up, min, max, softMax: custom.axisSoftMax });
  builder.addAxis({ scaleKey: 'y', placement: AxisPlacement.Left, theme, grid: { show: true }, formatValue: formatter(field, theme), incrs: unit === 'bytes' ? BINARY : undefined });
  builder.setPadding([8, 16, 0, 0]);
  if (custom.thresholdsStyle && custom.thresholdsStyle.mode !== 'off') {
    builder.addThresholds({ config: custom.thresholdsStyle, thresholds, scaleKey: 'y', theme, hardMin: min, hardMax: max });
  }
}

function marks(builder, found, theme) {
  builder.addHook('draw', (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.fillStyle = theme.visualization.getColorByName('blue');
    for (const { at, value } of found) {
      if (value > u.scales.y.max) continue;
      const [x, y, r] = [u.valToPos(at, 'x', true), u.valToPos(value, 'y', true), 4 * devicePixelRatio];
      ctx.beginPath();
      for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0]]) ctx.lineTo(x + dx, y + dy);
      ctx.fill();
    }
    ctx.restore();
  });
}

// Each series on top of those before it; a band fills the space between two of them.
function stacked(series, builder, colours) {
  let below = null;
  return series.map((values, place) => {
    const sums = values.map((value, i) => (value ?? 0) + (below ? below[i] : 0));
    if (place > 0) builder.addBand({ series: [place + 1, place], fill: `${colours[place]}66` });
    below = sums;
    return sums;
  });
}

export function TimeSeries({ panel, data, exemplars, v, theme, width, height }) {
  const joined = outerJoinDataFrames({ frames: data });
  const fields = joined.fields.filter((field) => field.type === FieldType.number);
  const custom = fields[0].config.custom || {};
  const isStacked = custom.stacking?.mode === StackingMode.Normal;
  const colours = fields.map((field, place) => theme.visualization.getColorByName(colourOf(field, place, theme)));
  const builder = new UPlotConfigBuilder('utc');
  axes(builder, fields[0], v, theme);
  fields.forEach((field, place) => builder.addSeries({
    scaleKey: 'y', theme, drawStyle: GraphDrawStyle.Line, lineColor: colours[place], lineWidth: custom.lineWidth ?? 1,
    fillOpacity: isStacked && place > 0 ? 0 : custom.fillOpacity ?? 0, showPoints: VisibilityMode.Never, pxAlign: 0, spanNulls: false,
  }));
  const raw = fields.map((field) => field.values);
  const values = isStacked ? stacked(raw, builder, colours) : raw;
  if (exemplars.length) marks(builder, exemplars, theme);
  const calcs = panel.options.legend.calcs || [];
  const items = fields.map((field, place) => {
    const reduced = reduceField({ field, reducers: calcs });
    const display = field.display || getDisplayProcessor({ field, theme });
    return {
      label: getFieldDisplayName(field, joined, data), color: colours[place], yAxis: 1,
      getDisplayValues: () => calcs.map((calc) => ({ ...display(reduced[calc]), title: TITLES[calc] })),
    };
  });
  const { displayMode, sortBy, sortDesc } = panel.options.legend;
  const isTable = displayMode === LegendDisplayMode.Table;
  const rows = Math.min(items.length + 1, Math.floor((height * MOST_LEGEND - 8) / ROW));
  const legend = isTable ? ROW * rows + 8 : LINE;
  return (
    <div>
      <UPlotChart config={builder} data={[joined.fields[0].values, ...values]} width={width} height={height - legend} timeRange={v.timeRange} />
      <div style={{ height: legend, overflow: 'hidden' }}>
        <VizLegend placement="bottom" items={items} displayMode={displayMode} sortBy={sortBy} sortDesc={sortDesc} isSortable />
      </div>
    </div>
  );
}
