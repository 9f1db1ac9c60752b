// Unpacks the other scripts of a page and runs them. Its Content-Security-Policy has their hashes, so that no others run.
'use strict';
const $ = id => document.getElementById(id);

// unpack reads what Pack in page.go wrote.
async function unpack(id) {
  const text = $(id).textContent, raw = new DataView(new ArrayBuffer(text.length + 4));
  let at = 0, n = 0, v = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 122) { at += 4; continue; } // z is four zeros
    v = v * 85 + (c === 118 ? 60 : c) - 33; // v is <
    if (++n === 5) { raw.setUint32(at, v); at += 4; n = v = 0; }
  }
  if (n) {
    for (let i = n; i < 5; i++) v = v * 85 + 84;
    raw.setUint32(at, v);
    at += n - 1;
  }
  const stream = new Blob([raw.buffer.slice(0, at)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}
const utf8 = bytes => new TextDecoder().decode(bytes);

function failed(err) {
  $('trouble').textContent = 'The charts cannot be drawn: ' + err.message + '. The tables below hold the numbers.';
  $('trouble').hidden = false;
  document.documentElement.dataset.ready = 'false';
  throw err;
}

(async () => {
  for (const id of ['libraries', 'program']) {
    const script = document.createElement('script');
    script.textContent = utf8(await unpack(id));
    document.body.append(script);
  }
})().catch(failed);
