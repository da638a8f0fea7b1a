import Foundation
import NIOCore
import NIOPosix

/// A device: one persistent connection to the service, for all apps on it (Guide, 2.1.4.4).
///
/// ```swift
/// let device = try Device(identity, at: courier, delegate: app)
/// try await device.run()
/// ```
///
/// ``run()`` keeps the device connected, whatever happens to the network, until it is cancelled or ``close()`` is
/// called. Requests such as ``register(_:)`` work before, during and without it.
public final class Device: Sendable {
    private let eventLoop: any EventLoop
    private let link: NIOLoopBoundBox<DeviceLink>
    private let requestTimeout: TimeAmount
    private let given: DeviceIdentity

    /// - Parameters:
    ///   - identity: what the device is known by.
    ///   - courier: where it connects.
    ///   - delegate: gets the notifications.
    ///   - configuration: how it works; the defaults suit most.
    /// - Throws: where the identity or the authority's certificate cannot be used.
    public init(
        _ identity: DeviceIdentity,
        at courier: CourierAddress,
        delegate: any DeviceDelegate,
        configuration: Configuration = Configuration(),
    ) throws(DeviceError) {
        let tls = if let shared = configuration.tls { shared } else { try CourierTLS(courier) }
        let eventLoop = configuration.eventLoop ?? configuration.eventLoopGroup.next()
        self.eventLoop = eventLoop
        given = configuration.keepsIdentity ? identity : identity.withoutSecrets
        requestTimeout = TimeAmount(configuration.requestTimeout)
        link = NIOLoopBoundBox.makeBoxSendingValue(
            DeviceLink(
                try DeviceCredentials(identity), tls: tls, delegate: delegate,
                configuration: configuration, eventLoop: eventLoop),
            eventLoop: eventLoop)
    }

    /// Connects, and keeps connected: notifications go to the delegate.
    ///
    /// Returns when the task is cancelled or the device closed, after what the app has taken was acknowledged.
    /// - Throws: what no further attempt can mend: see ``DeviceError/isTemporary``. Of these,
    ///   ``DeviceError/Code/takenOver`` says that another connection of the same device is in use.
    public func run() async throws(DeviceError) {
        let link = link
        do {
            try await withTaskCancellationHandler {
                try await eventLoop.flatSubmit { link.value.listen() }.get()
            } onCancel: {
                eventLoop.execute { link.value.close() }
            }
        } catch {
            throw error as? DeviceError ?? DeviceError(.disconnected, "\(error)")
        }
    }

    /// Begins what ``run()`` does, and leaves it to the delegate to hear of the end: 10,000 devices need no tasks.
    package func start() {
        eventLoop.execute { [link] in _ = link.value.listen() }
    }

    /// Ends the connection after what the app has taken was acknowledged. The device cannot be used any more.
    public func close() async {
        // The future does not fail.
        try? await eventLoop.flatSubmit { [link] in link.value.close() }.get()
    }

    /// The system says that the network is there again, or another one: a waiting device connects at once.
    public func networkIsBack() {
        eventLoop.execute { [link] in link.value.networkIsBack() }
    }

    /// The identity in use: the newest, after it was renewed.
    public var identity: DeviceIdentity {
        get async {
            // An event loop that has ended renews nothing any more.
            (try? await eventLoop.submit { [link] in link.value.renewed }.get()).flatMap(\.self) ?? given
        }
    }

    /// Says this of the power on later connections too.
    func remember(_ power: Power) {
        eventLoop.execute { [link] in link.value.power = power }
    }

    /// Makes a request, on a connection that is made where there is none.
    func send(_ request: CourierRequest) async throws(DeviceError) -> CourierResponse {
        try await link.send(request, timeout: requestTimeout, on: eventLoop)
    }
}

extension NIOLoopBoundBox<DeviceLink> {
    /// Makes a request, and throws where the courier refuses.
    func send(
        _ request: CourierRequest,
        timeout: TimeAmount,
        on eventLoop: any EventLoop,
    ) async throws(DeviceError) -> CourierResponse {
        let response: CourierResponse
        do {
            response = try await eventLoop.flatSubmit {
                let promise = eventLoop.makePromise(of: CourierResponse.self)
                self.value.send(request, timeout: timeout) { result in
                    promise.completeWith(result.mapError { $0 })
                }
                return promise.futureResult
            }.get()
        } catch {
            throw error as? DeviceError ?? DeviceError(.disconnected, "\(error)")
        }
        if let refusal = response.refusal { throw refusal }
        return response
    }
}
