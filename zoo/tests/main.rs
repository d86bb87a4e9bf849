//! All tests of the zoo, one program: a file for each topic, which is the first part of its tests' names.
//!
//! One program is linked once, and its tests take turns on all processors until the last one. A program for each file would
//! leave processors idle at the end of each.
//!
//! Invariant: tests run side by side in one process. Each has files of its own, by a name that no other test uses
//! ([`underbar_zoo::scratch`]), changes neither the environment nor the working folder of the process, and writes programs
//! through [`underbar_zoo::executable`].
#![forbid(unsafe_code)]

mod allocators;
mod arms;
mod awkward_sites;
mod below;
mod cache_children;
mod cache_faults;
mod cache_matrix;
mod cache_reads;
mod coalesced_timers;
mod deepbind;
mod demo;
mod demo_libraries;
mod deployment;
mod ecb;
mod ecb_display;
mod ecb_faults;
mod ecb_servers;
mod ecb_zones;
mod enclaves;
mod faults;
mod figures;
mod file_cache;
mod fleet;
mod follow;
mod forks;
mod gate_workflow;
mod given_up_rights;
mod heap;
mod heap_pools;
mod heap_sites;
mod heap_wrappers;
mod library_calls;
mod limits;
mod linked;
mod lock_cost;
mod lock_programs;
mod lock_report;
mod lock_rules;
mod locks;
mod manners;
mod misuse;
mod multi_fetch;
mod other_users;
mod over_time;
mod overflows;
mod page;
mod places;
mod process_one;
mod profile;
mod program_starts;
mod real_programs;
mod report_page;
mod request_sizes;
mod rules;
mod sandboxes;
mod sections;
mod service_managers;
mod services;
mod site_cost;
mod sites;
mod stacks;
mod switch_counts;
mod switches;
mod thread_heaps;
mod threads;
mod timers;
mod top;
mod trials;
mod tune;
mod tune_caches;
mod tune_live;
mod tutorial;
mod zones;

/// A file without its line above would not be compiled, and its tests would be missing.
#[test]
fn each_file_is_a_part_of_this_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for file in std::fs::read_dir(folder).expect("the folder of this file").flatten() {
        let name =
            file.path().file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_source = file.path().extension().is_some_and(|ending| ending == "rs") && name != "main";
        let line = format!("\nmod {name};\n");
        assert!(!is_source || include_str!("main.rs").contains(&line), "{name}");
    }
}
