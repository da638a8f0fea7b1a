import NIOCore
import Synchronization

/// What a scripted server has seen. Any task can read it and wait for it.
package final class ServerLog: Sendable {
    /// The events in their order.
    package enum Event: Equatable, Sendable {
        case opened(Int)
        case closed(Int)
        case request(Int, token: String)
    }

    private struct State {
        var requests: [ScriptedRequest] = []
        var events: [Event] = []
        var hosts: [String] = []
        var frames: [(connection: Int, type: UInt8, payload: [UInt8])] = []
        var greatestOpen: [Int: Int] = [:]
        var cancelled = 0
        var isOver = false
        var waiters: [(condition: (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// All requests, in the order in which they came.
    package var requests: [ScriptedRequest] { state.withLock { $0.requests } }
    /// All events.
    package var events: [Event] { state.withLock { $0.events } }
    /// The local address of each connection.
    package var hosts: [String] { state.withLock { $0.hosts } }
    /// The number of connections.
    package var connections: Int { state.withLock { $0.hosts.count } }
    /// The largest number of open requests at one time on a connection.
    package func greatestOpen(on connection: Int) -> Int { state.withLock { $0.greatestOpen[connection] ?? 0 } }
    /// The payloads of the received frames of a type.
    package func frames(_ type: UInt8) -> [[UInt8]] {
        state.withLock { $0.frames.filter { $0.type == type }.map(\.payload) }
    }

    /// Waits until this many requests have come.
    package func requests(_ count: Int) async { await wait { $0.requests.count >= count } }
    /// Waits until this many connections have ended.
    package func closed(_ count: Int) async {
        await wait { state in state.events.count { if case .closed = $0 { true } else { false } } >= count }
    }
    /// Waits until the client has reset this many streams.
    package func cancelled(_ count: Int) async { await wait { $0.cancelled >= count } }
    /// Waits until a frame of this type has come.
    package func frame(_ type: UInt8) async { await wait { $0.frames.contains { $0.type == type } } }

    /// Waits for a condition. If the test exceeds its time limit, it is cancelled, and the wait ends.
    private func wait(_ condition: @escaping @Sendable (State) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isMet = state.withLock { state in
                    if state.isOver || condition(state) { return true }
                    state.waiters.append((condition, continuation))
                    return false
                }
                if isMet { continuation.resume() }
            }
        } onCancel: {
            let rest = state.withLock { state in
                state.isOver = true
                defer { state.waiters = [] }
                return state.waiters.map(\.continuation)
            }
            for continuation in rest { continuation.resume() }
        }
    }

    private func change<Value>(_ body: (inout State) -> Value) -> Value where Value: Sendable {
        let (value, woken) = state.withLock { state in
            let value = body(&state)
            let woken = state.waiters.filter { $0.condition(state) }.map(\.continuation)
            if !woken.isEmpty { state.waiters = state.waiters.filter { !$0.condition(state) } }
            return (value, woken)
        }
        for continuation in woken { continuation.resume() }
        return value
    }

    // MARK: Told by the server

    func opened(at host: String) -> Int {
        change { state in
            state.hosts.append(host)
            state.events.append(.opened(state.hosts.count - 1))
            return state.hosts.count - 1
        }
    }

    func received(_ request: ScriptedRequest, open: Int) -> ScriptedRequest {
        change { state in
            var told = request
            told.number = state.requests.count
            state.requests.append(told)
            state.events.append(.request(told.connection, token: told.token))
            state.greatestOpen[told.connection] = max(open, state.greatestOpen[told.connection] ?? 0)
            return told
        }
    }

    func closed(_ connection: Int) { change { $0.events.append(.closed(connection)) } }
    func cancelled() { change { $0.cancelled += 1 } }
    func frame(_ connection: Int, _ type: UInt8, _ payload: [UInt8]) {
        change { $0.frames.append((connection, type, payload)) }
    }
}

/// Records the frames that a client sends, below the session.
final class FrameRecorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: Int
    private let log: ServerLog
    private var bytes: [UInt8] = []
    private var hasPreface = false

    init(connection: Int, log: ServerLog) {
        self.connection = connection
        self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        if !hasPreface, bytes.count >= 24 {
            bytes.removeFirst(24)
            hasPreface = true
        }
        while hasPreface, bytes.count >= 9 {
            let count = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
            guard bytes.count >= 9 + count else { break }
            log.frame(connection, bytes[3], Array(bytes[9..<9 + count]))
            bytes.removeFirst(9 + count)
        }
        context.fireChannelRead(data)
    }
}
