//! How much memory this process may still take: on the machine, in its control groups, within its own limits.
//!
//! Only reads. If the system does not say, the answer is `None`, never a guess.

/// Bytes that can still be taken, if known. Threads should be running already, since each reserves address space.
pub(super) fn free() -> Option<u64> {
    #[cfg(target_os = "linux")]
    let system = linux::free();
    #[cfg(not(target_os = "linux"))]
    let system = None;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    let own = limits::free();
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    let own = None;
    [system, own].into_iter().flatten().min()
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod limits {
    use rustix::process::{Resource, getrlimit};

    /// The bytes that glibc reserves for each heap, needed or not.
    const BYTES_PER_HEAP: u64 = 64 << 20;

    /// The bytes that `ulimit -v` and `ulimit -d` leave.
    pub(super) fn free() -> Option<u64> {
        let left = |limit: Resource, used: &str| {
            let most = getrlimit(limit).current?;
            let left = most.saturating_sub(used_now(used));
            Some(left - BYTES_PER_HEAP.min(left / 3))
        };
        let space = left(Resource::As, "VmSize:");
        let data = left(Resource::Data, "VmData:");
        [space, data].into_iter().flatten().min()
    }

    fn used_now(what: &str) -> u64 {
        std::fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(|text| super::kilobytes(&text, what))
            .unwrap_or(0)
    }
}

/// `MemAvailable:  123 kB` in bytes.
#[cfg_attr(not(any(target_os = "linux", target_os = "macos")), allow(dead_code))]
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let number = line.trim().strip_suffix("kB")?.trim();
    Some(number.parse::<u64>().ok()?.saturating_mul(1024))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The bytes that the machine and the control groups leave.
    pub(super) fn free() -> Option<u64> {
        let machine = fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| super::kilobytes(&text, "MemAvailable:"));
        let groups = fs::read_to_string("/proc/self/cgroup")
            .ok()
            .and_then(|text| groups(&text, Path::new("/sys/fs/cgroup")));
        [machine, groups].into_iter().flatten().min()
    }

    /// The file names of a version of control groups.
    struct Files {
        limits: &'static [&'static str],
        used: &'static str,
        /// The key in `memory.stat` for memory that can be reclaimed.
        cache: &'static str,
    }

    const V1: Files = Files {
        limits: &["memory.limit_in_bytes"],
        used: "memory.usage_in_bytes",
        cache: "total_inactive_file",
    };
    const V2: Files = Files {
        limits: &["memory.max", "memory.high"],
        used: "memory.current",
        cache: "inactive_file",
    };

    /// The bytes that the groups in `/proc/self/cgroup` leave; their files are below `root`.
    pub(super) fn groups(text: &str, root: &Path) -> Option<u64> {
        let free = text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, group) = (parts.next()?, parts.next()?);
            if controllers.is_empty() {
                return up(root, group, &V2);
            }
            let is_memory = controllers.split(',').any(|name| name == "memory");
            is_memory
                .then(|| up(&root.join("memory"), group, &V1))
                .flatten()
        });
        free.min()
    }

    /// The minimum that a group and its ancestors leave. In a container, the group may have its name on the host: missing groups
    /// are skipped, and the root always exists.
    fn up(root: &Path, group: &str, files: &Files) -> Option<u64> {
        let group = Path::new(group.trim_start_matches('/'));
        // Do not read outside of the root.
        let is_below = group
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        let group = if is_below { group } else { Path::new("") };
        let all = group.ancestors().filter_map(|group| {
            let folder = root.join(group);
            let used = number(&folder.join(files.used))?;
            let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let cache = stat.lines().find_map(|line| {
                line.strip_prefix(files.cache)?
                    .strip_prefix(' ')?
                    .parse::<u64>()
                    .ok()
            });
            let limits = files.limits.iter();
            let most = limits.filter_map(|name| number(&folder.join(name))).min()?;
            Some(most.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
        });
        all.min()
    }

    /// The number in a file; `None` for `max`.
    fn number(path: &PathBuf) -> Option<u64> {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_read_in_bytes() {
        let text = "MemTotal:  100 kB\nMemAvailable:   42 kB\nVmSize:\t 7 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(42 << 10));
        assert_eq!(kilobytes(text, "VmSize:"), Some(7 << 10));
        assert_eq!(kilobytes(text, "SwapFree:"), None);
        assert_eq!(kilobytes("MemAvailable: many kB", "MemAvailable:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_narrowest_group_counts_and_its_cache_is_free() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let free = |text: &str| linux::groups(text, root.path());
        write("a/b/memory.max", "max\n");
        write("a/b/memory.high", "max\n");
        write("a/b/memory.current", "500\n");
        assert_eq!(free("0::/a/b\n"), None);
        write("a/memory.max", "2000\n");
        write("a/memory.current", "900\n");
        write(
            "a/memory.stat",
            "anon 600\ninactive_file 300\nactive_file 9\n",
        );
        assert_eq!(free("0::/a/b\n"), Some(1400));
        write("a/b/memory.high", "1000\n");
        assert_eq!(free("0::/a/b\n"), Some(500));
        // Version 1, among other controllers; and a group named as on the host of a container.
        write("memory/memory.limit_in_bytes", "700\n");
        write("memory/memory.usage_in_bytes", "800\n");
        write("memory/memory.stat", "total_inactive_file 200\n");
        let text = "12:cpu,cpuacct:/x\n3:hugetlb,memory:/docker/0123\n0::/\n";
        assert_eq!(free(text), Some(100));
        assert_eq!(free("3:memory:/../../etc\n"), Some(100));
        assert_eq!(free("nonsense\n1:cpu:/\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says_how_much_there_is() {
        assert!(free().is_some_and(|bytes| bytes > 1 << 20));
    }
}
