package import Foundation
public import NIOCore
import NIOPosix

extension Device {
    /// What a device's connection does by itself.
    public enum State: Sendable, Hashable {
        /// A connection is being made.
        case connecting
        /// The stream of notifications is open.
        case connected
        /// There is no connection. The next one is tried after the delay, or at once after ``Device/networkIsBack()``.
        case disconnected(DeviceError, retryIn: Duration)
        /// It is over: the device was closed, or nothing that the device can do will help.
        case ended(DeviceError?)
    }

    /// What the device says of its power, which decides when the service sends notifications of priority 5.
    public enum Power: String, Sendable, Hashable, CaseIterable {
        /// Saving it: what can wait waits, and comes in bursts.
        case low
        /// In use.
        case awake
        case charging
    }

    /// How a device behaves. The defaults suit a device in the field.
    public struct Configuration: Sendable {
        /// How long a connection may take to be made and to open the stream of notifications. Mobile networks take
        /// some seconds for the TLS handshake.
        public var connectTimeout = Duration.seconds(20)
        /// How long an answer may take.
        public var requestTimeout = Duration.seconds(30)
        /// How long ``Device/close()`` waits for the app to take what it has, and for its acknowledgement.
        public var closeTimeout = Duration.seconds(5)
        /// Which notifications the device has seen, so that none is shown twice; in memory unless a store is given.
        public var received: any ReceivedIdentifiers = MemoryIdentifiers()
        /// What the device says of its power on each new connection; nil for nothing, which counts as
        /// ``Device/Power/awake``. What ``Device/report(_:)`` says later takes its place.
        public var power: Power?
        /// The threads that serve the connection.
        public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

        /// What a fleet shares among its connections.
        package var tls: CourierTLS?
        /// From 0 up to 1: spreads the delays.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The one thread that serves the connection; of the group by default.
        package var eventLoop: (any EventLoop)?
        /// Whether ``Device/identity`` can be asked for. A fleet has all of them in a file, and no use for a copy of
        /// 2 KB in each device.
        package var keepsIdentity = true
        /// Is told what a fleet counts.
        package var observer: (any DeviceObserver)?
        /// Asked on each new connection, in place of what was said before; on the connection's thread.
        package var readPower: (@Sendable () -> Power?)?
        /// Tells the time of day.
        package var now: @Sendable () -> Date = { Date() }
        var reconnection = Reconnection.Limits()
        var keepAlive = KeepAlive.Limits()
        var acknowledgements = Acknowledgements.Limits()

        /// The same in one place, for a fleet whose devices have it in common; only what they have seen is their own.
        package var shared: SharedConfiguration?

        public init() {}
    }
}

/// A configuration that many devices refer to, instead of each having the 300 bytes.
package final class SharedConfiguration: Sendable {
    let value: Device.Configuration

    package init(_ value: Device.Configuration) { self.value = value }
}

/// Is told what a fleet counts. Called from any thread.
package protocol DeviceObserver: Sendable {
    /// The courier took the acknowledgements of a request, and answered so long after its end.
    func acknowledged(_ count: Int, after time: TimeAmount)
    /// A notification came again.
    func duplicateReceived()
}
