import Foundation
import ServiceLifecycle

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Tells systemd that the service is ready, is alive, and is ending (sd_notify(3)). Without systemd it does nothing.
///
/// The protocol is one datagram with lines of text to a Unix socket, so it does not need libsystemd.
struct SystemdNotifier: Sendable {
    private let socketPath: String?
    /// How often systemd expects a report that the service is alive; nil if it expects none.
    let watchdogInterval: Duration?

    /// - Parameter environment: the process's variables. systemd's requests are in them.
    init(environment: [String: String]) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        // The variables may be inherited, and meant for a parent of this process.
        let isForThisProcess = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        watchdogInterval = environment["WATCHDOG_USEC"].flatMap(Int64.init)  // fits: nil if it does not
            .flatMap { isForThisProcess && $0 > 0 ? .microseconds($0) : nil }
    }

    func ready() { send("READY=1") }
    func stopping() { send("STOPPING=1") }

    /// Reports twice in each interval that the service is alive, if `check` returns. Runs until its task is cancelled.
    /// - Parameter check: makes every thread of the service do something. If one of them hangs, the reports stop, and
    ///   systemd restarts the service.
    func watch(_ check: () async -> Void) async {
        guard let watchdogInterval else { return }
        while !Task.isCancelled {
            await check()
            send("WATCHDOG=1")
            try? await Task.sleep(for: watchdogInterval / 2)
        }
    }

    private func send(_ text: String) {
        guard let socketPath else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(socketPath.utf8)
        // A name in the abstract namespace begins with a zero byte and is written with an @ (unix(7)).
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.count < room else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - room + path.count)
        let number = socket(AF_UNIX, Self.datagram, 0)
        guard number >= 0 else { return }
        defer { close(number) }
        // Ignore a failure, because systemd has its own time limits.
        _ = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(number, text, text.utf8.count, 0, address, length)
            }
        }
    }

    #if canImport(Darwin) || canImport(Musl)
        private static let datagram = SOCK_DGRAM
    #else
        private static let datagram = Int32(SOCK_DGRAM.rawValue)
    #endif
}
