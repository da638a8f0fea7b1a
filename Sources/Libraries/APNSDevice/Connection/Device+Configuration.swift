package import Foundation
public import NIOCore
import NIOPosix

extension Device {
    /// The state of a device's connection.
    public enum State: Sendable, Hashable {
        /// The device is connecting.
        case connecting
        /// The device is connected, and the stream of notifications is open.
        case connected
        /// The device is not connected. It connects again after the delay, or at once after
        /// ``Device/networkIsBack()``.
        case disconnected(DeviceError, retryIn: Duration)
        /// The device has ended: it was closed, or an error happened that another attempt cannot solve.
        case ended(DeviceError?)
    }

    /// The power state that the device reports. It decides when the service sends notifications of priority 5.
    public enum Power: String, Sendable, Hashable, CaseIterable {
        /// The device saves power. Notifications that can wait are delayed and sent in bursts.
        case low
        /// The device is in use.
        case awake
        /// The device is charging.
        case charging
    }

    /// The settings of a device. The defaults suit a device in everyday use.
    public struct Configuration: Sendable {
        /// The time for connecting and opening the stream of notifications. Mobile networks need a few seconds for
        /// the TLS handshake.
        public var connectTimeout = Duration.seconds(20)
        /// The time for the answer to a request.
        public var requestTimeout = Duration.seconds(30)
        /// The time that ``Device/close()`` waits until the app has taken its notification and it is acknowledged.
        public var closeTimeout = Duration.seconds(5)
        /// The store of the identifiers of received notifications, so that none is shown twice. By default it is in
        /// memory.
        public var received: any ReceivedIdentifiers = MemoryIdentifiers()
        /// The power state to report on each new connection. If it is nil, nothing is reported, which counts as
        /// ``Device/Power/awake``. A later ``Device/report(_:)`` replaces it.
        public var power: Power?
        /// The software that the service's administrators see beside the device, with its version: up to 100 bytes on one
        /// line, such as `kiosk 1.2`. If it is nil, nothing is reported.
        public var software: String?
        /// The event loops that serve the connection.
        public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

        /// The TLS context that the devices of a fleet share.
        package var tls: CourierTLS?
        /// Returns a random number from 0 up to 1 that spreads the delays.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The event loop that serves the connection; by default one of the group.
        package var eventLoop: (any EventLoop)?
        /// Whether the device keeps its identity for ``Device/identity``. A fleet has all identities in a file and
        /// saves 2 KB for each device.
        package var keepsIdentity = true
        /// An observer that counts the events of a fleet.
        package var observer: (any DeviceObserver)?
        /// Returns the power state to report on each new connection, instead of the last one reported. Called on the
        /// event loop.
        package var readPower: (@Sendable () -> Power?)?
        /// Returns the current date.
        package var now: @Sendable () -> Date = { Date() }
        var reconnection = Reconnection.Limits()
        var keepAlive = AdaptiveKeepAlive.Limits()
        var acknowledgements = Acknowledgements.Limits()

        /// A configuration that the devices of a fleet share. Only `received` differs between them.
        package var shared: SharedConfiguration?

        /// Creates a configuration with the default values.
        public init() {}
    }
}

/// A configuration that many devices share, which saves 300 bytes for each device.
package final class SharedConfiguration: Sendable {
    let value: Device.Configuration

    /// Creates a shared configuration.
    package init(_ value: Device.Configuration) { self.value = value }
}

/// Counts the events of a fleet. Called from any thread.
package protocol DeviceObserver: Sendable {
    /// Called when the courier has answered a request with acknowledgements. `time` is the time from the request's
    /// end to the answer.
    func acknowledged(_ count: Int, after time: TimeAmount)
    /// Called when a notification came that the device had already received.
    func duplicateReceived()
}
