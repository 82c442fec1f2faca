/**
 * @rote-frontmatter
 * ---
 * name: report
 * ---
 */
import { tool, type Output } from '@rote/sdk';
interface Item { id: number; title?: string }
enum Kind { A = 1, B = 'b' }
const seen = new Set<number>();
class Page<T> { constructor(private items: T[]) {} *[Symbol.iterator]() { yield* this.items; } }
export default async function main({ first = 1, ...rest }: Record<string, unknown>): Promise<Output> {
  const page = new Page<Item>([{ id: Kind.A, title: `t${first}` }]);
  for (const item of page) if (!seen.has(item.id)) seen.add(item.id);
  return { kind: Kind.B, rest, re: /a(?<n>b)/u.source } satisfies object as unknown as Output;
}
