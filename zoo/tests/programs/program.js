// Objects, maps, buffers, promises, a worker thread and a child process.
const fs = require('fs');
const { Worker } = require('worker_threads');
const { spawnSync } = require('child_process');

const map = new Map();
for (let n = 0; n < 200000; n++) map.set('key' + ((n * 7919) % 100003), { n, text: 'x'.repeat(n % 50) });
const list = [...map.entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1)).slice(0, 3000);
fs.writeFileSync('out.json', JSON.stringify(list, null, 1));

const buffers = [];
for (let n = 1; n < 400; n++) buffers.push(Buffer.alloc(n * 100, n % 256));
const whole = Buffer.concat(buffers);
console.log(map.size, whole.length, require('crypto').createHash('sha256').update(whole).digest('hex'));

const child = spawnSync(process.execPath, ['-e', 'console.log("x".repeat(100000)); process.exit(6)']);
console.log(child.status, child.stdout.length);

const source = `
const { parentPort } = require('worker_threads');
const pieces = [];
for (let n = 0; n < 50000; n++) pieces.push({ n: n, text: String(n) });
parentPort.postMessage(pieces.reduce((sum, piece) => sum + piece.text.length, 0));
`;
new Promise((resolve, reject) => {
  const worker = new Worker(source, { eval: true });
  worker.on('message', resolve);
  worker.on('error', reject);
}).then(async (sum) => {
  const gathered = await Promise.all([...Array(500).keys()].map(async (n) => n * 2));
  console.log(sum, gathered.reduce((a, b) => a + b), JSON.stringify(JSON.parse(fs.readFileSync('out.json'))).length);
  console.log('done');
});
