//! A stack of frames under `underbar run`: this test starts itself again there. STACK gives its sizes, and the report counts its
//! segments.

use underbar::Stack;
use underbar_zoo::{left, run, scratch};

const INSIDE: &str = "UNDERBAR_TEST_INSIDE";

#[test]
fn sizes_and_accounts_of_a_stack() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let file = scratch("stack-of-frames").join("report.json");
    let path = file.to_str().expect("a path of text");
    let program = std::env::current_exe().expect("this program");
    let program = program.to_str().expect("a path of text");
    let flags = ["--json", "--opts", "STACK(16K,8K,,FREE)", "-o", path];
    let result = left(run(&flags, &[program, "--exact", "sizes_and_accounts_of_a_stack"]).env(INSIDE, "1"));
    assert!(result.status.success(), "{result:?}");
    let report = std::fs::read_to_string(&file).expect("a report");
    assert!(report.contains("\"segments_allocated\":11,\"segments_freed\":11"), "{report}");
}

/// A first segment and ten increments, of which all but one are given back on the way down.
fn inside() {
    let mut stack = Stack::new().expect("storage");
    assert_eq!(stack.account().bytes, 16 << 10);
    while stack.account().allocated < 11 {
        stack.push(1000).expect("storage");
    }
    assert_eq!(stack.account().bytes, (16 + 10 * 8) << 10);
    while stack.pop() {}
    assert_eq!(stack.account().freed, 9);
}
