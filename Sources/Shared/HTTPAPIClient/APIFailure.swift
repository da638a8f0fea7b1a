import Notifications

/// Why a request to an API failed.
package enum APIFailure: Error {
    /// No answer came.
    case notReached(any Error)
    /// The answer ended in the middle.
    case interrupted(any Error)
    /// The server answered with an error.
    case refused(status: UInt, body: [UInt8])
    /// The answer is not the JSON that was expected.
    case notUnderstood(any Error)

    /// What the server says about the error (RFC 9457), with the place of the fault in the document that was sent. Both
    /// are nil if the answer says nothing, for example because it comes from a proxy.
    package var problem: (detail: String?, pointer: String?) {
        guard case .refused(_, let body) = self, let answer = try? JSONValue(answer: body) else {
            return (nil, nil)
        }
        return (answer.members["detail"]?.string, answer.members["pointer"]?.string)
    }
}
