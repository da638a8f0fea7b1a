import DequeModule
import Foundation
import HTTP2
import NIOCore
import NIOPosix

/// Keeps one device connected: carries out what `Reconnection`, `KeepAlive` and `Acknowledgements` decide. Confined to
/// its event loop; the delegate is called from a task that exists while there is something to tell.
final class DeviceLink {
    /// How many requests may wait for a connection: an app each, on a device with many.
    static let maximumWaitingRequests = 1000

    enum State {
        case idle
        case connecting(CourierConnection)
        case connected(CourierConnection)
        case waiting(Scheduled<Void>)
        case closed
    }

    /// Something that is to happen at a time.
    enum Timer {
        case once(Scheduled<Void>)
        /// The look at a silent connection: without a promise and a closure, 300 bytes less for each device.
        case look(NIOScheduledCallback)

        func cancel() {
            switch self {
            case .once(let task): task.cancel()
            case .look(let callback): callback.cancel()
            }
        }
    }

    /// A request for acknowledgements whose body goes on.
    struct OpenAcknowledgement {
        let stream: StreamID
        /// Since when only the answer is missing.
        var ended: NIODeadline?
    }

    /// What the event loop calls for a look.
    struct Look: NIOScheduledCallbackHandler {
        let link: NIOLoopBound<DeviceLink>

        func handleScheduledCallback(eventLoop: some EventLoop) { link.value.lookNow() }
    }

    struct WaitingRequest {
        let request: CourierRequest
        let timeout: TimeAmount
        let finish: (Result<CourierResponse, DeviceError>) -> Void
    }

    let eventLoop: any EventLoop
    let tls: CourierTLS
    let delegate: any DeviceDelegate
    /// Which notifications the device has seen.
    let seen: any ReceivedIdentifiers
    private let shared: SharedConfiguration
    /// Nil for a connection that makes devices.
    var credentials: DeviceCredentials?
    /// The identity after it was renewed.
    var renewed: DeviceIdentity?
    /// From when on the identity is to be renewed.
    var renewalDate: Date?
    /// What the device says of its power on each new connection.
    var power: Device.Power?

    var state = State.idle
    /// Whether the stream of notifications is wanted, and who waits for its end.
    var listening: EventLoopPromise<Void>?
    var isStreamOpen = false
    /// Set when the device is to end: what is under way is brought to its end first.
    var closing: EventLoopPromise<Void>?
    var reconnection: Reconnection
    var keepAlive: KeepAlive
    var acknowledgements: Acknowledgements
    /// The request for acknowledgements that stays open.
    var openAcknowledgement: OpenAcknowledgement?
    /// The look at whether it has to end.
    var acknowledgementLook: Scheduled<Void>?
    /// Whether acknowledgements wait a moment for more.
    var isGathering = false
    var requests: [WaitingRequest] = []
    var inbox = Inbox()
    /// The look at the silent connection, or the end of its patience while it is made.
    var look: Timer?
    var isWatched = false
    var renewal = Renewal.none

    init(
        _ credentials: DeviceCredentials?,
        tls: CourierTLS,
        delegate: any DeviceDelegate,
        configuration: Device.Configuration,
        eventLoop: any EventLoop,
    ) {
        self.credentials = credentials
        renewalDate = credentials?.validity?.renewalDate
        power = configuration.power
        self.tls = tls
        self.delegate = delegate
        seen = configuration.received
        shared = configuration.shared ?? SharedConfiguration(configuration)
        self.eventLoop = eventLoop
        reconnection = Reconnection(limits: configuration.reconnection)
        keepAlive = KeepAlive(limits: configuration.keepAlive, now: eventLoop.now)
        acknowledgements = Acknowledgements(limits: configuration.acknowledgements)
    }

    var configuration: Device.Configuration { shared.value }
    var courier: CourierAddress { tls.courier }

    /// This object, for closures that come back to the event loop.
    var bound: NIOLoopBound<DeviceLink> { NIOLoopBound(self, eventLoop: eventLoop) }

    // MARK: What the device asks for

    /// Wants the stream of notifications, from now on and for good.
    func listen() -> EventLoopFuture<Void> {
        if let listening { return listening.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        guard closing == nil else {
            promise.fail(DeviceError(.closed, "The device was closed."))
            return promise.futureResult
        }
        listening = promise
        switch state {
        case .idle: connect()
        case .connected(let connection): beginListening(on: connection)
        case .connecting, .waiting, .closed: break
        }
        return promise.futureResult
    }

    /// Makes a request, or keeps it until there is a connection.
    func send(
        _ request: CourierRequest,
        timeout: TimeAmount,
        _ finish: @escaping (Result<CourierResponse, DeviceError>) -> Void,
    ) {
        guard closing == nil else { return finish(.failure(DeviceError(.closed, "The device was closed."))) }
        if case .connected(let connection) = state { return connection.send(request, timeout: timeout, finish) }
        guard requests.count < Self.maximumWaitingRequests else {
            return finish(.failure(DeviceError(.unavailable, "Too many requests wait for a connection.")))
        }
        requests.append(WaitingRequest(request: request, timeout: timeout, finish: finish))
        if case .idle = state { connect() }
    }

    /// A waiting device connects at once; one that is connected asks whether it still is.
    func networkIsBack() {
        reconnection.networkIsBack()
        keepAlive.networkIsBack(at: eventLoop.now)
        switch state {
        case .waiting(let timer):
            timer.cancel()
            connect()
        case .connected(let connection):
            // The old network's connection may be dead without anybody's having said so.
            connection.ping()
            lookAgain(at: eventLoop.now)
        case .idle, .connecting, .closed: break
        }
    }

    /// Ends, after what the app has taken was acknowledged.
    @discardableResult
    func close() -> EventLoopFuture<Void> {
        if let closing { return closing.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        closing = promise
        let bound = bound
        look?.cancel()
        look = .once(
            eventLoop.scheduleTask(in: TimeAmount(configuration.closeTimeout)) { bound.value.finishClosing() })
        closeIfDone()
        return promise.futureResult
    }

    /// Whether nothing is left to be brought to its end.
    func closeIfDone() {
        guard closing != nil, !inbox.isTaking else { return }
        acknowledge()
        if case .connected = state, !acknowledgements.isEmpty { return }
        finishClosing()
    }

    private func finishClosing() {
        if case .closed = state { return }
        end(nil)
    }

    // MARK: The end

    /// The device ends, with what cannot be mended or because it was closed.
    func end(_ error: DeviceError?) {
        let old = state
        state = .closed
        look?.cancel()
        acknowledgementLook?.cancel()
        isStreamOpen = false
        let reason = error ?? DeviceError(.closed, "The device was closed.")
        switch old {
        case .waiting(let timer): timer.cancel()
        case .connecting(let connection), .connected(let connection): connection.fail(reason)
        case .idle, .closed: break
        }
        for waiting in requests { waiting.finish(.failure(reason)) }
        requests = []
        inbox.removeAll()
        delegate.stateChanged(to: .ended(error))
        let closed = closing ?? eventLoop.makePromise()
        closing = closed
        closed.succeed()
        if let error { listening?.fail(error) } else { listening?.succeed() }
    }
}
