import HTTP2
import NIOCore
import Testing

struct OverdueRequestTests {
    private func overdue(after seconds: Int64, isAnswered: Bool) -> OverdueRequest? {
        let began = NIODeadline.uptimeNanoseconds(5_000_000_000)
        return OverdueRequest(
            began: began, isAnswered: isAnswered, timeout: .seconds(10), now: began + .seconds(seconds))
    }

    @Test(arguments: [0, 9, 10]) func `In time there is nothing to do`(seconds: Int64) {
        #expect(overdue(after: seconds, isAnswered: false) == nil)
        #expect(overdue(after: seconds, isAnswered: true) == nil)
    }

    /// Its client may wait until the stream ends, and a shutdown waits for the client.
    @Test func `A stream whose request was cut short is reset soon, but not together with the answer`() {
        func overdue(after seconds: Int64) -> OverdueRequest? {
            let began = NIODeadline.uptimeNanoseconds(100_000_000_000)
            return OverdueRequest(
                began: began, isAnswered: true, cutShort: began + .seconds(2), timeout: .seconds(10),
                now: began + .seconds(seconds))
        }
        #expect(overdue(after: 2) == nil)
        #expect(overdue(after: 3) == nil)
        #expect(overdue(after: 4) == .answered)
        #expect(overdue(after: 21) == .stuck)
    }

    @Test(arguments: [(Int64(11), OverdueRequest.answered), (20, .answered), (21, .stuck)])
    func `An answer that is not taken is reset and then ends the connection`(seconds: Int64, expected: OverdueRequest) {
        #expect(overdue(after: seconds, isAnswered: true) == expected)
    }

    @Test(arguments: [11, 21, 1000]) func `A request that does not end gets its answer`(seconds: Int64) {
        #expect(overdue(after: seconds, isAnswered: false) == .unanswered)
    }
}
