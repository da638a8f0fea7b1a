import DequeModule
import Foundation
import HTTP2
import NIOCore
import NIOPosix

/// Keeps one device connected: carries out the decisions of `Reconnection`, `AdaptiveKeepAlive` and `Acknowledgements`.
/// Confined to its event loop. A task calls the delegate; it exists only while there is something to report.
final class DeviceLink {
    /// The largest number of requests that wait for a connection: one for each app on a device with many apps.
    static let maximumWaitingRequests = 1000
    /// The largest number of requests without an answer. The courier allows 100 streams, and the one of notifications and
    /// acknowledgements need some too.
    static let maximumOpenRequests = 64

    enum State {
        case idle
        case connecting(CourierConnection)
        case connected(CourierConnection)
        case waiting(Scheduled<Void>)
        case closed
    }

    /// A scheduled action.
    enum Timer {
        case once(Scheduled<Void>)
        /// A check of a silent connection. Without a promise and a closure it takes 300 bytes less for each device.
        case check(NIOScheduledCallback)

        func cancel() {
            switch self {
            case .once(let task): task.cancel()
            case .check(let callback): callback.cancel()
            }
        }
    }

    /// A request with acknowledgements whose body continues.
    struct OpenAcknowledgement {
        let stream: StreamID
        /// The time at which the body ended and only the answer was missing.
        var ended: NIODeadline?
    }

    /// The handler that the event loop calls for a check.
    struct SilenceCheck: NIOScheduledCallbackHandler {
        let link: NIOLoopBound<DeviceLink>

        func handleScheduledCallback(eventLoop: some EventLoop) { link.value.checkNow() }
    }

    struct WaitingRequest {
        let request: CourierRequest
        let timeout: TimeAmount
        let finish: (Result<CourierResponse, DeviceError>) -> Void
    }

    let eventLoop: any EventLoop
    let tls: CourierTLS
    let delegate: any DeviceDelegate
    /// The identifiers of the notifications that the device has seen.
    let seen: any ReceivedIdentifiers
    private let shared: SharedConfiguration
    /// The credentials; nil for a connection that activates devices.
    var credentials: DeviceCredentials?
    /// The renewed identity, if it was renewed.
    var renewed: DeviceIdentity?
    /// The time from which the identity is to be renewed.
    var renewalDate: Date?
    /// The power state to report on each new connection.
    var power: Device.Power?

    var state = State.idle
    /// Completed when the device ends; nil if no stream of notifications is wanted.
    var listening: EventLoopPromise<Void>?
    var isStreamOpen = false
    /// Completed when the device has closed; nil before it begins to close. Work under way is finished first.
    var closing: EventLoopPromise<Void>?
    var reconnection: Reconnection
    var keepAlive: AdaptiveKeepAlive
    var acknowledgements: Acknowledgements
    /// The open request with acknowledgements, if there is one.
    var openAcknowledgement: OpenAcknowledgement?
    /// The scheduled check whether the open request has to end.
    var scheduledAcknowledgement: Scheduled<Void>?
    /// Whether acknowledgements wait a moment for more.
    var isGathering = false
    /// The requests that wait for a connection, or for others to be answered.
    var requests: [WaitingRequest] = []
    /// The number of requests without an answer.
    private var openRequests = 0
    private var isSendingWaiting = false
    var inbox = Inbox()
    /// The scheduled check of the silent connection, or the time limit for connecting or closing.
    var check: Timer?
    /// Whether `check` is the check of the silent connection, and no time limit.
    var isChecked = false
    var renewal = Renewal.none
    /// The error that has ended the device. Later requests fail with it.
    private var fatal: DeviceError?

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
        keepAlive = AdaptiveKeepAlive(limits: configuration.keepAlive, now: eventLoop.now)
        acknowledgements = Acknowledgements(limits: configuration.acknowledgements)
    }

    var configuration: Device.Configuration { shared.value }
    var courier: CourierAddress { tls.courier }

    /// This object in a form for closures that run on the event loop.
    var bound: NIOLoopBound<DeviceLink> { NIOLoopBound(self, eventLoop: eventLoop) }

    // MARK: Requests of the device

    /// Opens the stream of notifications and keeps it open for the rest of the device's life.
    func listen() -> EventLoopFuture<Void> {
        if let listening { return listening.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        guard closing == nil else {
            promise.fail(closedError)
            return promise.futureResult
        }
        listening = promise
        switch state {
        case .idle: connect()
        case .connected(let connection):
            limitOpening(of: connection)
            beginListening(on: connection)
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
        guard closing == nil else { return finish(.failure(closedError)) }
        guard requests.count < Self.maximumWaitingRequests else {
            return finish(.failure(DeviceError(.unavailable, "Too many requests are waiting.")))
        }
        requests.append(WaitingRequest(request: request, timeout: timeout, finish: finish))
        if case .idle = state { connect() } else { sendWaiting() }
    }

    /// Sends as many waiting requests as the connection has room for.
    func sendWaiting() {
        // A request that cannot be made ends at once, and calls this again.
        guard !isSendingWaiting else { return }
        isSendingWaiting = true
        defer { isSendingWaiting = false }
        while case .connected(let connection) = state, !connection.isGoingAway, !requests.isEmpty,
            openRequests < Self.maximumOpenRequests
        {
            let waiting = requests.removeFirst()
            openRequests += 1
            connection.send(waiting.request, timeout: waiting.timeout) { [self] result in
                openRequests -= 1
                waiting.finish(result)
                sendWaiting()
            }
        }
    }

    /// Makes a waiting device connect at once, and a connected one check its connection.
    func networkIsBack() {
        reconnection.networkIsBack()
        keepAlive.networkIsBack(at: eventLoop.now)
        switch state {
        case .waiting(let timer):
            timer.cancel()
            connect()
        case .connected(let connection):
            // The connection of the old network may be dead although nothing has reported it.
            connection.ping()
            // A time limit goes on.
            if isChecked { checkAgain(at: eventLoop.now) }
        case .idle, .connecting, .closed: break
        }
    }

    /// Closes the device after the notifications that the app has taken were acknowledged.
    @discardableResult
    func close() -> EventLoopFuture<Void> {
        if let closing { return closing.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        closing = promise
        let bound = bound
        check?.cancel()
        isChecked = false
        check = .once(
            eventLoop.scheduleTask(in: TimeAmount(configuration.closeTimeout)) { bound.value.finishClosing() })
        closeIfDone()
        return promise.futureResult
    }

    /// Ends the device if it is closing and no work is under way.
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

    /// Why the device takes no more requests.
    private var closedError: DeviceError { fatal ?? DeviceError(.closed, "The device was closed.") }

    /// Ends the device, because of an error that another attempt cannot solve or because it was closed.
    func end(_ error: DeviceError?) {
        let old = state
        state = .closed
        check?.cancel()
        scheduledAcknowledgement?.cancel()
        isStreamOpen = false
        fatal = error
        let reason = closedError
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
