import Foundation
import NIOCore
import NIOPosix

/// A device with one persistent connection to the service for all of its apps (Guide, 2.1.4.4).
///
/// ```swift
/// let device = try Device(identity, at: courier, delegate: app)
/// try await device.run()
/// ```
///
/// ``run()`` keeps the device connected and reconnects after network failures, until it is cancelled or ``close()``
/// is called. Requests such as ``register(_:)`` work before, during and without it.
public final class Device: Sendable {
    private let eventLoop: any EventLoop
    private let link: NIOLoopBoundBox<DeviceLink>
    private let requestTimeout: TimeAmount
    private let given: DeviceIdentity

    /// Creates a device. It connects when ``run()`` is called or a request is made.
    /// - Parameters:
    ///   - identity: the device's identity.
    ///   - courier: the address of the service's courier.
    ///   - delegate: receives the notifications.
    ///   - configuration: the settings; the defaults suit most devices.
    /// - Throws: ``DeviceError/Code/badIdentity`` or ``DeviceError/Code/badAuthority`` if the identity or the
    ///   authority's certificate cannot be used.
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

    /// Connects and stays connected. The delegate receives the notifications.
    ///
    /// Returns when the task is cancelled or the device is closed, after the notifications that the app has taken
    /// were acknowledged.
    /// - Throws: A ``DeviceError`` that another attempt cannot solve; see ``DeviceError/isTemporary``.
    ///   ``DeviceError/Code/takenOver`` means that another connection of the same device is in use.
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

    /// Does the same as ``run()`` without waiting. The delegate is told of the end. A fleet of 10,000 devices needs
    /// no tasks this way.
    package func start() {
        eventLoop.execute { [link] in _ = link.value.listen() }
    }

    /// Closes the connection after the notifications that the app has taken were acknowledged. The device cannot be
    /// used afterwards.
    public func close() async {
        // The future does not fail.
        try? await eventLoop.flatSubmit { [link] in link.value.close() }.get()
    }

    /// Tells the device that the network is back or has changed. A waiting device connects at once; a connected
    /// device checks its connection.
    public func networkIsBack() {
        eventLoop.execute { [link] in link.value.networkIsBack() }
    }

    /// The identity in use. After a renewal this is the renewed one.
    public var identity: DeviceIdentity {
        get async {
            // If the event loop has ended, the identity cannot have been renewed.
            (try? await eventLoop.submit { [link] in link.value.renewed }.get()).flatMap(\.self) ?? given
        }
    }

    /// Reports this power state on later connections as well.
    func remember(_ power: Power) {
        eventLoop.execute { [link] in link.value.power = power }
    }

    /// Sends a request. If there is no connection, the device connects first.
    func send(_ request: CourierRequest) async throws(DeviceError) -> CourierResponse {
        try await link.send(request, timeout: requestTimeout, on: eventLoop)
    }
}

extension NIOLoopBoundBox<DeviceLink> {
    /// Sends a request and throws the courier's refusal.
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
