import NIOCore

extension TimeAmount {
    /// Converts a caller's duration and limits it to 0 to 30 days, so that adding it to the clock cannot overflow.
    /// The service keeps a notification for 30 days at most.
    init(bounding duration: Duration) {
        let longest = Duration.seconds(30 * 86_400)
        self.init(min(max(duration, .zero), longest))
    }
}
