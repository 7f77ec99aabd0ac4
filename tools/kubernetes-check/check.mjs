// node check.mjs FILE.yaml ...: fails unless each file is a valid object of the Prometheus operator.
import { readFile } from 'node:fs/promises';

import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { parse } from 'yaml';

const KINDS = { PodMonitor, PrometheusRule };
let status = 0;
for (const path of process.argv.slice(2)) {
  const object = parse(await readFile(path, 'utf8'));
  try {
    new KINDS[object.kind](object).validate();
    console.log(`${path}: a valid ${object.kind}`);
  } catch (error) {
    console.log(`${path}: ${error.message}`);
    status = 1;
  }
}
process.exit(status);
