// Single numbers and tables, both on Grafana's own components.
import { getDisplayValueAlignmentFactors, getFieldDisplayName, getFieldDisplayValues } from '@grafana/data';
import { BigValueTextMode } from '@grafana/schema';
import { BigValue } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';

export function Stat({ panel, data, theme, width, height }) {
  const { reduceOptions, colorMode, graphMode, textMode: asked } = panel.options;
  const found = getFieldDisplayValues({
    fieldConfig: { defaults: {}, overrides: [] }, reduceOptions, replaceVariables: (text) => text, theme, data, sparkline: graphMode === 'area', timeZone: 'utc',
  });
  const textMode = found.length > 1 || asked === BigValueTextMode.ValueAndName ? BigValueTextMode.ValueAndName : BigValueTextMode.Value;
  return (
    <div style={{ display: 'flex' }}>
      {found.map((each) => (
        <BigValue key={each.name} theme={theme} width={width / found.length} height={height} value={each.display} sparkline={each.sparkline}
          alignmentFactors={getDisplayValueAlignmentFactors(found)} colorMode={colorMode} graphMode={graphMode} textMode={textMode} justifyMode="auto" />
      ))}
    </div>
  );
}

export function Table({ data, width, height }) {
  const fields = data[0].fields.map((field) => ({ ...field, name: getFieldDisplayName(field, data[0], data) }));
  return <TableNG data={{ ...data[0], fields }} width={width} height={height} cellHeight="sm" structureRev={1} getActions={() => []} noHeader={false} initialSortBy={[]} />;
}
