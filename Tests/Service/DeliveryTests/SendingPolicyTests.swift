import Notifications
import Rates
import Testing

@testable import Delivery

/// The decisions about power, throttling and silent notifications, without a line.
@Suite("When a notification may be sent")
struct SendingPolicyTests {
    private static let interval = Duration.seconds(30)

    private static func policy(_ power: DevicePower) -> SendingPolicy {
        SendingPolicy(power: power, burstInterval: interval)
    }

    private static let waits: [(Priority, isSilent: Bool, SendingPolicy.Wait?, tries: Bool)] = [
        (.immediate, false, nil, true), (.considerate, false, .burst, true), (.low, false, .company, false),
        // Silent notifications have low priority, whatever the request says (Guide, 2.2.2).
        (.immediate, true, .burst, false), (.considerate, true, .burst, false), (.low, true, .company, false),
    ]

    @Test(arguments: waits)
    func `If a device saves power, urgent notifications are sent and others wait`(
        _ priority: Priority, isSilent: Bool, _ wait: SendingPolicy.Wait?, tries: Bool
    ) {
        let notification = Example.notification(1, priority: priority, isSilent: isSilent)
        #expect(Self.policy(.low).wait(for: notification, isBurst: false) == wait)
        #expect(Self.policy(.low).tries(notification, isBurst: false) == tries)
    }

    @Test(arguments: waits)
    func `Nothing waits for power during a burst, or if the device is awake or charging`(
        _ priority: Priority, isSilent: Bool, _ wait: SendingPolicy.Wait?, tries: Bool
    ) {
        let notification = Example.notification(1, priority: priority, isSilent: isSilent)
        for (power, isBurst) in [(DevicePower.low, true), (.awake, false), (.charging, false)] {
            #expect(Self.policy(power).wait(for: notification, isBurst: isBurst) == nil)
            #expect(Self.policy(power).tries(notification, isBurst: isBurst))
        }
    }

    @Test
    func `Only background notifications, or those without a push type, to the app itself are silent`() {
        func isSilent(_ kind: TopicKind, _ type: PushType?) -> Bool {
            var notification = Example.notification(1, isSilent: true)
            (notification.fields.topic, notification.fields.pushType) = ("com.example.app" + kind.suffix, type)
            return notification.isSilent
        }
        for kind in TopicKind.allCases { #expect(isSilent(kind, nil) == (kind == .app)) }
        for type in PushType.allCases { #expect(isSilent(.app, type) == (type == .background)) }
    }

    @Test
    func `The first notification that waits for a burst sets the time of the burst`() {
        var policy = Self.policy(.low)
        policy.began(.company, now: Example.now)
        #expect(policy.burstAt == nil)
        policy.began(.burst, now: Example.now)
        policy.began(.burst, now: Example.now(Example.moment.advanced(by: .seconds(1))))
        #expect(policy.burstAt == Example.now.uptime.advanced(by: Self.interval))
        policy.endBurst()
        #expect(policy.burstAt == nil)
    }

    @Test
    func `Silent notifications are counted for each app on each device, with the time when the next is allowed`() {
        var silents = SendingPolicy.Silents(DeliveryLimits().silentsPerApp)
        let silent = Example.notification(1, isSilent: true)
        func throttle(_ notification: Notification, app: UInt32 = 1) -> SendingPolicy.Wait? {
            SendingPolicy.throttle(notification, to: Example.destination(app: app), Example.now, &silents)
        }
        for _ in 0..<3 { #expect(throttle(silent) == nil) }
        #expect(throttle(silent) == .rate(until: Example.now.uptime.advanced(by: .seconds(1200))))
        #expect(throttle(silent, app: 2) == nil)
        #expect(throttle(Example.notification(2)) == nil)
    }
}
