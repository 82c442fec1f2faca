//! A flow of 500 lines in three files: what bundling costs beside parsing alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use rote_script::{BundleLimits, SourceMap, bundle};

/// Steps of twelve lines, as a flow has them.
fn steps(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, step| {
        let _ = write!(
            text,
            "interface Row{step} {{ id: number; name: string; tags?: string[] }}\n\
             export async function step{step}(input: Row{step}[], limit: number = 10): Promise<Row{step}[]> {{\n\
             \x20 const kept: Row{step}[] = [];\n\
             \x20 for (const row of input) {{\n\
             \x20   if (row.tags?.includes(\"x\") ?? false) continue;\n\
             \x20   const answer = (await call(\"items.get\", {{ id: row.id, limit }})) as {{ ok: boolean }};\n\
             \x20   if (!answer.ok) throw new Error(`row ${{row.id}} of {step} failed`);\n\
             \x20   kept.push({{ ...row, name: clean(row.name) }});\n\
             \x20 }}\n\
             \x20 return kept.slice(0, limit);\n\
             }}\n\n"
        );
        text
    })
}

fn sources() -> Arc<BTreeMap<String, String>> {
    let head = "import { call } from \"@rote/sdk\";\nimport { clean } from \"./lib/clean.ts\";\n";
    let main = format!(
        "{head}import {{ step0 as first }} from \"./lib/steps.ts\";\n{}\nexport default async () => first([], 1);\n",
        steps(20)
    );
    Arc::new(BTreeMap::from([
        ("main.ts".into(), main),
        ("lib/steps.ts".into(), format!("{}{}", head.replace("./lib/", "./"), steps(20))),
        ("lib/clean.ts".into(), "export const clean = (text: string): string => text.trim();\n".into()),
    ]))
}

fn flow(criterion: &mut Criterion) {
    let (sources, limits) = (sources(), BundleLimits::default());
    criterion.bench_function("parse alone, 500 lines", |bencher| {
        bencher.iter(|| {
            for source in sources.values() {
                let allocator = Allocator::default();
                black_box(Parser::new(&allocator, source, SourceType::ts()).parse().program.body.len());
            }
        });
    });
    criterion.bench_function("bundle, 500 lines", |bencher| {
        bencher.iter(|| bundle("main.ts", black_box(sources.clone()), &limits).expect("the sources are good"));
    });
    let map = bundle("main.ts", sources.clone(), &limits).expect("the sources are good").map;
    criterion.bench_function("parse the source map", |bencher| {
        bencher.iter(|| SourceMap::parse(black_box(&map)).expect("the map is ours"));
    });
}

criterion_group!(benches, flow);
criterion_main!(benches);
