import Dispatch
import Foundation
import PostgresClient
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Passes connections on to a server of the tests. It can stop one direction: it then takes what comes, passes nothing on, and
/// closes nothing.
package final class StallingProxy: Sendable {
    package enum Way: Sendable {
        case toServer
        case fromServer
    }

    private struct State {
        var stopped: Set<Way> = []
        /// How many bytes were taken and not passed on yet.
        var held: [Way: Int] = [:]
        var waiting: [DispatchSemaphore] = []
        /// The open sockets, which are closed in the end.
        var sockets: Set<Int32> = []
    }

    /// The URL of the database behind the proxy.
    package let url: String
    private let folder: String
    private let server: String
    private let state = Mutex(State())

    /// - Parameter url: a URL of ``TestServer``.
    package init(to url: String) throws {
        var template = Array("/tmp/carillon-proxy-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template), let host = url.range(of: "host=") else {
            throw PostgresError(.other, "There is no folder for a proxy, or no host in the URL.")
        }
        folder = String(cString: made)
        server = String(url[host.upperBound...].prefix { $0 != "&" })
        self.url = url.replacingOccurrences(of: server, with: folder)
        let listener = try Self.socket(at: folder, bind)
        guard listen(listener, 16) == 0 else { throw PostgresError(.other, "The proxy cannot listen.") }
        state.withLock { _ = $0.sockets.insert(listener) }
        start { proxy in
            while case let client = accept(listener, nil, nil), client >= 0 { proxy.pass(client) }
        }
    }

    /// Passes nothing on in these directions from now on.
    package func stop(_ ways: Way...) { state.withLock { $0.stopped.formUnion(ways) } }

    /// Passes everything on again.
    package func goOn() {
        let waiting = state.withLock { state in
            state.stopped = []
            defer { state.waiting = [] }
            return state.waiting
        }
        for semaphore in waiting { semaphore.signal() }
    }

    /// How many bytes wait in a direction that was stopped.
    package func held(_ way: Way) -> Int { state.withLock { $0.held[way] ?? 0 } }

    /// Ends all connections.
    package func close() {
        goOn()
        for socket in state.withLock({ $0.sockets }) { _ = shutdown(socket, Int32(SHUT_RDWR)) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func pass(_ client: Int32) {
        // The client sees the end of its connection if there is no server.
        guard let there = try? Self.socket(at: server, connect) else {
            _ = Self.close(client)
            return
        }
        state.withLock { $0.sockets.formUnion([client, there]) }
        let isOver = DispatchSemaphore(value: 0)
        start { proxy in
            proxy.copy(from: there, to: client, .fromServer)
            isOver.signal()
        }
        start { proxy in
            proxy.copy(from: client, to: there, .toServer)
            isOver.wait()
            proxy.state.withLock { $0.sockets.subtract([client, there]) }
            for socket in [client, there] { _ = Self.close(socket) }
        }
    }

    private func copy(from source: Int32, to target: Int32, _ way: Way) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(source, &buffer, buffer.count), count > 0 {
            waitIfStopped(way, with: count)
            var sent = 0
            while sent < count {
                let written = buffer[sent..<count].withUnsafeBytes {
                    send(target, $0.baseAddress, $0.count, Self.flags)
                }
                guard written > 0 else { break }
                sent += written
            }
            if sent < count { break }
        }
        for socket in [source, target] { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private func waitIfStopped(_ way: Way, with count: Int) {
        let semaphore = DispatchSemaphore(value: 0)
        let waits = state.withLock { state in
            guard state.stopped.contains(way) else { return false }
            state.held[way, default: 0] += count
            state.waiting.append(semaphore)
            return true
        }
        guard waits else { return }
        semaphore.wait()
        state.withLock { $0.held[way, default: 0] -= count }
    }

    private func start(_ body: @escaping @Sendable (StallingProxy) -> Void) {
        let thread = Thread { body(self) }
        thread.name = "proxy"
        thread.start()
    }

    #if canImport(Glibc)
        private static let stream = Int32(SOCK_STREAM.rawValue)
        /// A write to a closed socket must not end the process.
        private static let flags = Int32(MSG_NOSIGNAL)
        private static func close(_ socket: Int32) -> Int32 { Glibc.close(socket) }
    #else
        private static let stream = SOCK_STREAM
        private static let flags: Int32 = 0
        private static func close(_ socket: Int32) -> Int32 { Darwin.close(socket) }
    #endif

    /// Opens PostgreSQL's socket in a folder.
    private static func socket(
        at folder: String,
        _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32,
    ) throws -> Int32 {
        #if canImport(Glibc)
            let socket = Glibc.socket(AF_UNIX, stream, 0)
        #else
            let socket = Darwin.socket(AF_UNIX, stream, 0)
        #endif
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (folder + "/.s.PGSQL.5432").utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard socket >= 0, result == 0 else {
            if socket >= 0 { _ = close(socket) }
            throw PostgresError(.other, "The socket in \(folder) cannot be used.")
        }
        return socket
    }
}
