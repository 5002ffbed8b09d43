// SPDX-License-Identifier: Apache-2.0
// A first job from Node, with plain @grpc/grpc-js and the protos: make a queue, put a job in it, take
// it, report it. Needs a rota-server (ROTA_ADDRESS). A real worker also sends heartbeats and stops at
// its local deadline; see proto/rota/v1/worker_service.proto.
'use strict';
const path = require('path');
const { randomUUID } = require('crypto');
const { promisify } = require('util');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const protos = process.env.ROTA_PROTO_DIR || path.join(__dirname, '../../../proto');
const files = ['job', 'queue', 'worker'].map((noun) => `rota/v1/${noun}_service.proto`);
const { v1 } = grpc.loadPackageDefinition(loader.loadSync(files, { includeDirs: [protos] })).rota;
const address = process.env.ROTA_ADDRESS || '127.0.0.1:7500';

function connect(Service) {
  const client = new Service(address, grpc.credentials.createInsecure());
  return (method, request) =>
    promisify(client[method]).call(client, request, { deadline: Date.now() + 30000 });
}

async function main() {
  const [jobs, queues, workers] = [v1.JobService, v1.QueueService, v1.WorkerService].map(connect);
  await queues('SetQueue', { queue: 'hello' });
  const payload = { data: Buffer.from('world') };
  const job = { queue: 'hello', kind: 'greet', payload };
  const { job: accepted } = await jobs('EnqueueJob', { requestId: randomUUID(), job });

  const sessionId = randomUUID();
  const worker = { workerId: 'hello-node' };
  const ask = { requestId: randomUUID(), sessionId, worker, queues: ['hello'], maxJobs: 1 };
  ask.waitDuration = { seconds: 5 };
  const { jobs: leased } = await workers('LeaseJobs', ask);
  for (const { jobId, fencingToken, payload: given } of leased) {
    console.log(`hello ${given.data}`);
    const outcome = { success: { result: { data: Buffer.from('greeted') } } };
    const items = [{ lease: { jobId, fencingToken }, outcome }];
    await workers('FinishJobs', { sessionId, items });
  }

  // Another worker of this queue may have taken it: what became of it is asked of the server.
  const { job: ended, finished } = await jobs('WaitJob', { jobId: accepted.id });
  if (!finished) throw new Error(`job ${ended.id} goes on: rota job explain ${ended.id} says why`);
  console.log(`job ${ended.id} is final, result ${ended.result ? ended.result.data : 'none'}`);
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error.message);
    process.exit(1);
  },
);
