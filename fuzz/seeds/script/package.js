export const a = 1, b = () => a ?? 2;
export default class { static x = b(); }
export * from './index.js';
label: for (;;) { break label; }
