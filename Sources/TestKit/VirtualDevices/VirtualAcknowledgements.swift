import Delivery
import HeapModule
import Synchronization

/// Acknowledges for all virtual devices, in one task. It uses machine time, because the virtual clock does not apply to
/// connections.
final class VirtualAcknowledgements: Sendable {
    private struct Due: Comparable {
        let time: ContinuousClock.Instant
        /// Keeps the order of acknowledgements that are due at the same time.
        let order: UInt64
        let device: DeviceKey
        /// The number to acknowledge; nil to connect the device again.
        let number: UInt64?

        static func < (left: Due, right: Due) -> Bool { (left.time, left.order) < (right.time, right.order) }
        static func == (left: Due, right: Due) -> Bool { left.order == right.order }
    }

    private struct State {
        var due = Heap<Due>()
        var last: UInt64 = 0
    }

    /// The switchboard limits how many notifications each device has here.
    private let state = Mutex(State())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init() { (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// May be called on any thread and under locks. It never waits.
    func add(_ number: UInt64, _ device: DeviceKey, after delay: Duration) { add(device, number, after: delay) }

    func connectAgain(_ device: DeviceKey) { add(device, nil, after: VirtualDeviceLimits.reconnect) }

    private func add(_ device: DeviceKey, _ number: UInt64?, after delay: Duration) {
        state.withLock { state in
            state.last += 1
            state.due.insert(Due(time: .now + delay, order: state.last, device: device, number: number))
        }
        wake.yield()
    }

    /// Acknowledges until the task is cancelled.
    /// - Parameter connect: connects a device again.
    func run(
        _ switchboard: any Switchboard,
        _ broadcasts: Broadcasts,
        connect: @Sendable @escaping (DeviceKey) -> Void,
    ) async {
        // The time of the next wake-up that is scheduled.
        var asked: ContinuousClock.Instant?
        for await _ in wakeUps {
            let (due, next) = state.withLock { state in
                let now = ContinuousClock.now
                var due: [Due] = []
                while let first = state.due.min, first.time <= now {
                    due.append(state.due.removeMin())
                }
                return (due, state.due.min?.time)
            }
            var numbers: [DeviceKey: [UInt64]] = [:]
            for item in due {
                if let number = item.number {
                    numbers[item.device, default: []].append(number)
                } else {
                    connect(item.device)
                }
            }
            for (device, numbers) in numbers {
                let ofBroadcasts = numbers.filter(BroadcastMessage.has)
                if ofBroadcasts.count < numbers.count { switchboard.acknowledge(numbers, by: device) }
                if !ofBroadcasts.isEmpty { broadcasts.acknowledge(ofBroadcasts, by: device) }
            }
            if let time = asked, time <= .now { asked = nil }
            guard let next, asked.map({ next < $0 }) ?? true else { continue }
            asked = next
            let wake = wake
            // Wakes up when the next acknowledgement is due.
            Task {
                try? await Task.sleep(until: next, clock: .continuous)
                wake.yield()
            }
        }
    }
}
