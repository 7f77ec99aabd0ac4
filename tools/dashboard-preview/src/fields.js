// A panel's field options on its data: units, thresholds, mappings, colours; and its transformations.
import {
  applyFieldOverrides, FieldConfigOptionsRegistry, standardTransformers, standardTransformersRegistry, transformDataFrame,
} from '@grafana/data';
import { firstValueFrom } from 'rxjs';

const STANDARD = ['unit', 'min', 'max', 'decimals', 'displayName', 'noValue', 'thresholds', 'mappings', 'color', 'links', 'description', 'filterable'];
const CUSTOM = ['lineWidth', 'fillOpacity', 'showPoints', 'thresholdsStyle', 'stacking', 'axisSoftMax', 'hideFrom'];

// Grafana's own registry of options is not published; this one passes every option on as it is.
const option = (id, path, isCustom) => ({
  id, path, name: path, isCustom, settings: {}, process: (value) => value, shouldApply: () => true, editor: () => null, override: () => null,
});
const registry = new FieldConfigOptionsRegistry(() => [
  ...STANDARD.map((name) => option(name, name, false)), ...CUSTOM.map((name) => option(`custom.${name}`, name, true)),
]);

standardTransformersRegistry.setInit(() =>
  [...new Map(Object.values(standardTransformers).map((each) => [each.id, each])).values()].map((each) => ({
    id: each.id, name: each.name, transformation: () => Promise.resolve(each), editor: () => null, imageDark: '', imageLight: '',
  })),
);

export async function finished(panel, frames, theme) {
  const steps = panel.transformations || [];
  const data = steps.length ? await firstValueFrom(transformDataFrame(steps, frames)) : frames;
  const fieldConfig = structuredClone(panel.fieldConfig || { defaults: {}, overrides: [] });
  fieldConfig.overrides ??= [];
  // In JSON the lowest step is null; at run time it is minus infinity.
  for (const step of fieldConfig.defaults.thresholds?.steps || []) step.value ??= -Infinity;
  return applyFieldOverrides({ data, fieldConfig, fieldConfigRegistry: registry, replaceVariables: (text) => text, theme, timeZone: 'utc' });
}

export const numbers = (data) => data.flatMap((frame) => frame.fields.filter((field) => field.type === 'number').map((field) => ({ frame, field })));

export const points = (data) => numbers(data).reduce((n, { field }) => n + field.values.filter((value) => value !== null && !Number.isNaN(value)).length, 0);
