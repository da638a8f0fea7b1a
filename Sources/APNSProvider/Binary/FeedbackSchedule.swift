public import Logging
public import ServiceLifecycle

/// Reads the feedback service once a day, and takes what it says out of the provider's record: "query the feedback service
/// daily" (Guide, 3.1.3).
///
/// A `Service` of swift-service-lifecycle, to run beside a ``ProviderClient``. Make one for each app: the feedback service
/// has a list of its own for each, that of its certificate.
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

    /// - Parameters:
    ///   - reader: reads the app's list.
    ///   - deviceTokens: your record.
    ///   - topic: the app's, whose certificate the reader has.
    ///   - interval: from one reading to the next; a minute at least.
    ///   - logger: is told when a reading fails, at info.
    ///   - clock: measures the time between readings.
    ///   - report: is told what each reading took out of the record; it has to return soon.
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

    /// Reads now and then at intervals, until the graceful shutdown begins or the task is cancelled. A reading that fails is
    /// repeated after a minute at first, and then ever later.
    public func run() async throws {
        // Either way it is time to end.
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

/// How long to wait from one reading of the feedback service to the next.
struct FeedbackTiming: Sendable, Hashable {
    /// A list changes too slowly for a connection more often than this.
    static let shortest = Duration.seconds(60)
    /// An outage of the service is over within hours, and the list is kept meanwhile.
    static let longestAfterFailure = Duration.seconds(3_600)

    private let interval: Duration
    private var failure: Duration?

    init(interval: Duration) { self.interval = max(interval, Self.shortest) }

    mutating func wait(hasFailed: Bool) -> Duration {
        failure = hasFailed ? min(failure.map { $0 * 2 } ?? Self.shortest, Self.longestAfterFailure, interval) : nil
        return failure ?? interval
    }
}
