package import NIOCore

/// A response whose body is read as it comes.
package struct HTTP2StreamingResponse: Sendable {
    package var status: Int
    /// Names in lower case; of repeated fields the last.
    package var headers: [String: String]
    /// The body, piece by piece. It ends with an error when the connection does; when nobody reads, the peer is made
    /// to wait.
    package var body: Body

    package typealias Body = NIOThrowingAsyncSequenceProducer<
        ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, BodyReader
    >

    /// Stops and resumes the reading of one stream as its reader asks.
    package final class BodyReader: NIOAsyncSequenceProducerDelegate, Sendable {
        let eventLoop: any EventLoop
        let onDemand: @Sendable () -> Void
        let onEnd: @Sendable () -> Void

        init(
            eventLoop: any EventLoop,
            onDemand: @escaping @Sendable () -> Void,
            onEnd: @escaping @Sendable () -> Void,
        ) {
            self.eventLoop = eventLoop
            self.onDemand = onDemand
            self.onEnd = onEnd
        }

        package func produceMore() { eventLoop.execute(onDemand) }
        package func didTerminate() { eventLoop.execute(onEnd) }
    }

    /// How many pieces may wait for the reader before the peer does: at 16 KiB each no more than a megabyte.
    static let strategy = NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark(
        lowWatermark: 16, highWatermark: 64)
}
