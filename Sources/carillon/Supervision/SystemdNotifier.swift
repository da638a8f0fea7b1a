import Foundation
import Service
import ServiceLifecycle

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Tells systemd that the service is ready, that it lives, and that it ends (sd_notify(3)). Without systemd it does nothing.
///
/// The protocol is a datagram with lines of text to a Unix socket, so libsystemd is not needed for it.
struct SystemdNotifier: Sendable {
    private let socketPath: String?
    /// How often systemd wants to hear that the service lives; nil if it does not ask for it.
    let watchdogInterval: Duration?

    /// - Parameter environment: the process's variables, in which systemd says what it wants to know.
    init(environment: [String: String]) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        // It may be meant for another process, whose child this one is.
        let isForThisProcess = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        watchdogInterval = environment["WATCHDOG_USEC"].flatMap(Int64.init)
            .flatMap { isForThisProcess && $0 > 0 ? .microseconds($0) : nil }
    }

    func ready() { send("READY=1") }
    func stopping() { send("STOPPING=1") }

    /// Says so twice in each interval, as long as `check` comes back. It ends with its task.
    /// - Parameter check: has every thread of the service do something. If one of them hangs, systemd hears nothing more, and
    ///   starts the service again.
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
        // A name in the abstract namespace begins with a zero byte, and is written with an @ (unix(7)).
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.count < room else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - room + path.count)
        let number = socket(AF_UNIX, Self.datagram, 0)
        guard number >= 0 else { return }
        defer { close(number) }
        // Nothing hangs on whether it is heard: systemd has time limits of its own.
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
