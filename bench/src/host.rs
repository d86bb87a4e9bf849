//! The host of a run: processor, number of processors, memory, kernel, huge pages; never the machine's name.

use std::fmt;
use std::fs::read_to_string;

/// The properties that limit the comparison of two runs.
#[derive(Debug, Clone)]
pub struct Host {
    /// The processor's model, as the kernel names it.
    pub processor: String,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// Main memory in GiB, rounded.
    pub memory_gib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The setting of transparent huge pages.
    pub huge_pages: String,
}

impl Host {
    /// Reads it from the kernel; an unreadable value is called unknown.
    #[must_use]
    pub fn here() -> Self {
        let unknown = || "unknown".to_owned();
        let value = |text: &str, label: &str| {
            text.lines()
                .find(|line| line.starts_with(label))
                .and_then(|line| line.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
        };
        let memory = read_to_string("/proc/meminfo").unwrap_or_default();
        let kib: u64 = value(&memory, "MemTotal")
            .and_then(|text| text.split_whitespace().next().and_then(|digits| digits.parse().ok()))
            .unwrap_or(0);
        let processor = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let huge = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        Self {
            processor: value(&processor, "model name").unwrap_or_else(unknown),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: (kib + (1 << 19)) >> 20,
            kernel: read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
            huge_pages: huge
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
                .map_or_else(unknown, |(chosen, _)| chosen.to_owned()),
        }
    }

    /// The same, for programs.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "processor": self.processor, "processors": self.processors, "memory_gib": self.memory_gib,
            "kernel": self.kernel, "huge_pages": self.huge_pages,
        })
    }

    /// A word for a folder's name: the kind of host, such as `xeon-processor-2cpu`.
    #[must_use]
    pub fn kind(&self) -> String {
        let noise = ["intel", "amd", "r", "tm", "cpu", "with", "unknown"];
        let words: Vec<String> = self
            .processor
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .map(str::to_ascii_lowercase)
            .filter(|word| !word.is_empty() && !noise.contains(&word.as_str()))
            .take(3)
            .collect();
        let name = if words.is_empty() { std::env::consts::ARCH.to_owned() } else { words.join("-") };
        format!("{name}-{}cpu", self.processors)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "{}, {} processors, {} GiB, kernel {}, transparent huge pages {}",
            self.processor, self.processors, self.memory_gib, self.kernel, self.huge_pages
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Host;

    #[test]
    fn the_kind_is_a_plain_word() {
        let host = Host {
            processor: "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz".to_owned(),
            processors: 2,
            memory_gib: 24,
            kernel: "6.1".to_owned(),
            huge_pages: "madvise".to_owned(),
        };
        assert_eq!(host.kind(), "xeon-platinum-8481c-2cpu");
        assert!(Host::here().kind().ends_with("cpu"));
    }
}
