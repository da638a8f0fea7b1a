import Foundation

/// The memory that the process uses, as the system counts it.
enum ResidentMemory {
    /// The memory in bytes; nil if the system does not say.
    static var bytes: Int? {
        #if os(Linux)
            // The second number is the resident size in pages (proc_pid_statm(5)).
            guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
            let numbers = text.split(separator: " ")
            guard numbers.count > 1, let pages = Int(numbers[1]) else { return nil }
            let (bytes, overflow) = pages.multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
            return overflow ? nil : bytes
        #else
            return nil
        #endif
    }
}
