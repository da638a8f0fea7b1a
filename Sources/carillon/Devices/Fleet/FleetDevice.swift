import APNSDevice
import Foundation
import Notifications
import Synchronization

/// The app on one simulated device. It acknowledges notifications and counts them.
final class FleetDevice: DeviceDelegate {
    private let totals: FleetTotals
    private let acknowledgementDelay: Duration
    private let state = Mutex(State())

    private struct State {
        var isConnected = false
        var wasConnected = false
        var waiting: CheckedContinuation<DeviceError?, Never>?
    }

    init(totals: FleetTotals, acknowledgementDelay: Duration) {
        self.totals = totals
        self.acknowledgementDelay = acknowledgementDelay
    }

    func received(_ notification: ReceivedNotification) async {
        let now = Date().timeIntervalSince1970 * 1000
        let sent = JSONObject(notification.payload, .ofPayload)?[number: "sent"]
        totals.received(after: sent.map { .milliseconds(now - Double($0)) })
        guard acknowledgementDelay > .zero else { return }
        // If the fleet ends, the delay ends too.
        try? await Task.sleep(for: acknowledgementDelay)
    }

    func stateChanged(to new: Device.State) {
        let isConnected = new == .connected
        var error: DeviceError?
        switch new {
        case .disconnected(let cause, _): error = cause
        case .ended(let cause): error = cause ?? DeviceError(.closed, "The device was closed.")
        case .connecting, .connected: break
        }
        let (was, again, waiting) = state.withLock { state in
            defer {
                state.isConnected = isConnected
                if isConnected { state.wasConnected = true }
                if isConnected || error != nil { state.waiting = nil }
            }
            return (state.isConnected, isConnected && state.wasConnected, state.waiting)
        }
        totals.count { counts in
            if isConnected != was { counts.connected += isConnected ? 1 : -1 }
            if again { counts.reconnects += 1 }
            if let error, error.code != .closed { counts.failures += 1 }
        }
        if isConnected || error != nil { waiting?.resume(returning: error) }
    }

    func reported(_ problem: DeviceError) { totals.count { $0.failures += 1 } }

    /// Starts the device, and waits until it is connected or its first attempt has failed.
    func connect(_ device: Device) async -> DeviceError? {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiting = continuation }
            device.start()
        }
    }
}
