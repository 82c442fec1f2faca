//! The gate's decision alone, with 64 list entries and 64 address grants: time against one hash-map lookup in
//! the same run, and allocations, which must be none.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rote_govern::egress::{AllowedRange, address_verdict};
use rote_govern::{Policy, ToolFacts, guard};
use rote_types::{Access, Method, SensitivityTier};

/// Counts what is allocated, so that "no allocation" is measured and not believed.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "counting allocations needs an allocator")]
// SAFETY: every method hands its arguments to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn policy() -> Policy {
    let names: Vec<String> = (0..64).map(|n| format!("issues_action_{n}")).collect();
    let text = serde_json::json!({ "version": 1, "safe_list": names, "confirm_list": [], "deny_list": [] });
    let mut policy = Policy::parse(text.to_string().as_bytes(), "bench").expect("the policy is well formed");
    for n in 0..64 {
        let cidr = format!("10.{n}.0.0/16").parse().expect("a network");
        policy.allow(AllowedRange { cidr, port: Some(443), reason: "bench".to_owned() });
    }
    policy
}

/// One decision: what the lists say of the tool, and whether the address may be dialled.
fn decide(policy: &Policy, tool: &ToolFacts<'_>, address: IpAddr) -> bool {
    let decision = guard(policy, tool);
    address_verdict(address, policy.allowed_ranges(), 443).is_ok() && decision.reason.len() > 1
}

fn decision(criterion: &mut Criterion) {
    let policy = policy();
    let tool = ToolFacts {
        name: "issues_create",
        toolset: "issues",
        method: Method::Post,
        access: Access::Write,
        raised_by: None,
        tier: SensitivityTier::Low,
    };
    let address: IpAddr = "10.63.1.2".parse().expect("an address");
    let lookup: HashMap<String, u32> = (0..64).map(|n| (format!("issues_action_{n}"), n)).collect();
    criterion.bench_function("decision/64 entries and 64 grants", |b| {
        b.iter(|| decide(black_box(&policy), black_box(&tool), black_box(address)));
    });
    criterion.bench_function("baseline/one hash-map lookup", |b| {
        b.iter(|| black_box(&lookup).get(black_box("issues_action_63")).copied());
    });
    let ours = each(|| decide(black_box(&policy), black_box(&tool), black_box(address)));
    let base = each(|| black_box(&lookup).get(black_box("issues_action_63")).is_some());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..10_000 {
        black_box(decide(black_box(&policy), black_box(&tool), black_box(address)));
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    println!(
        "decision: {ours:?}, a hash-map lookup: {base:?}, ratio {:.1}; {allocations} allocations in 10,000 decisions (goal: 2 µs, none)",
        ours.as_secs_f64() / base.as_secs_f64()
    );
    assert_eq!(allocations, 0, "the decision allocates");
}

/// Mean time of one call over 200,000.
fn each(mut body: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    for _ in 0..200_000 {
        black_box(body());
    }
    start.elapsed() / 200_000
}

criterion_group!(benches, decision);
criterion_main!(benches);
