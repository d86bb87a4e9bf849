//! Ledger to report, report to text and JSON, difference of two reports
#![forbid(unsafe_code)]
