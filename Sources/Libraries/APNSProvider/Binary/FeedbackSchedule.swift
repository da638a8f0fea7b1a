public import Logging
public import ServiceLifecycle

/// Reads the feedback service once a day and removes the device tokens in its list from the provider's record:
/// "query the feedback service daily" (Guide, 3.1.3).
///
/// Run it as a `Service` of swift-service-lifecycle beside a ``ProviderClient``. Make one for each app, because the
/// feedback service has a separate list for each app's certificate.
///
/// ```swift
/// let schedule = FeedbackSchedule(reader, in: deviceTokens, topic: "com.example.app")
/// try await schedule.run()
/// ```
public struct FeedbackSchedule<Tokens: DeviceTokens>: Service {
    private let reader: FeedbackReader
    private let deviceTokens: Tokens
    private let topic: String
    private let timing: FeedbackTiming
    private let logger: Logger
    private let clock: any Clock<Duration>
    private let report: @Sendable ([FeedbackItem]) -> Void

    /// Creates a schedule.
    /// - Parameters:
    ///   - reader: the reader of the app's list.
    ///   - deviceTokens: your record.
    ///   - topic: the topic of the app that the reader's certificate belongs to.
    ///   - interval: the time from one reading to the next; at least a minute.
    ///   - logger: the logger. A reading that fails is logged at level info.
    ///   - clock: the clock that measures the time between readings.
    ///   - report: is called after each reading with the entries whose device tokens were removed. It has to return
    ///     soon.
    public init(
        _ reader: FeedbackReader,
        in deviceTokens: Tokens,
        topic: String,
        every interval: Duration = .seconds(86_400),
        logger: Logger = Logger(label: "apns-feedback") { _ in SwiftLogNoOpLogHandler() },
        clock: any Clock<Duration> = ContinuousClock(),
        report: @escaping @Sendable ([FeedbackItem]) -> Void = { _ in },
    ) {
        self.reader = reader
        self.deviceTokens = deviceTokens
        self.topic = topic
        timing = FeedbackTiming(interval: interval)
        self.logger = logger
        self.clock = clock
        self.report = report
    }

    /// Reads once at the start and then at intervals, until the graceful shutdown begins or the task is cancelled.
    /// If a reading fails, it is repeated after a minute, then after longer and longer delays.
    public func run() async throws {
        // The schedule ends in both cases, so the error does not matter.
        try? await cancelWhenGracefulShutdown { try await readForEver() }
    }

    private func readForEver() async throws {
        var timing = timing
        while !Task.isCancelled {
            var hasFailed = false
            do {
                report(try await reader.forgetInactive(in: deviceTokens, topic: topic))
            } catch {
                guard !Task.isCancelled else { return }
                hasFailed = true
                logger.info(
                    "The feedback service was not read", metadata: ["topic": "\(topic)", "cause": "\(error)"])
            }
            try await clock.sleep(for: timing.wait(hasFailed: hasFailed))
        }
    }
}

/// Decides how long to wait from one reading of the feedback service to the next.
struct FeedbackTiming: Sendable, Hashable {
    /// The shortest interval. The list changes too slowly to read it more often.
    static let shortest = Duration.seconds(60)
    /// The longest delay after a failure. Outages last hours at most, and the service keeps the list meanwhile.
    static let longestAfterFailure = Duration.seconds(3_600)

    private let interval: Duration
    private var failure: Duration?

    init(interval: Duration) { self.interval = max(interval, Self.shortest) }

    mutating func wait(hasFailed: Bool) -> Duration {
        failure = hasFailed ? min(failure.map { $0 * 2 } ?? Self.shortest, Self.longestAfterFailure, interval) : nil
        return failure ?? interval
    }
}
