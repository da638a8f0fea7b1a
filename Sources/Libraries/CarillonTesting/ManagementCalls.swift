import HTTPAPIClient
import Synchronization

/// Sends requests to the management API of a service.
struct ManagementCalls: Sendable {
    let url: String
    let key: String
    private let client: APIClient
    private let silence: Silence

    /// The longest time of a request that waits for nothing.
    static let timeLimit = Duration.seconds(30)
    /// The longest time beyond that of a wait, and of each request after one that was not answered.
    static let briefLimit = Duration.seconds(5)

    /// Whether the last request was not answered in time.
    private final class Silence: Sendable {
        let isOn = Atomic(false)
    }

    init(url: String, key: String) {
        (self.url, self.key) = (url, key)
        let silence = Silence()
        self.silence = silence
        client = APIClient(.url(url), key: key, sharesConnections: true) {
            if case .notReached(let error) = $0, RequestFailure.cause(of: error) == RequestFailure.late {
                silence.isOn.store(true, ordering: .relaxed)
            }
            return Self.error($0, url, hasKey: !key.isEmpty)
        }
    }

    /// Sends a request and returns the answer.
    /// - Parameter timeLimit: the longest time until the whole answer is there; nil for that of a request that waits for
    ///   nothing.
    /// - Throws: ``TestAPNsError/Code/refused`` with the service's explanation, or ``TestAPNsError/Code/timedOut``.
    func ask<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: (some Encodable & Sendable)? = Never?.none,
        timeLimit: Duration? = nil,
    ) async throws(TestAPNsError) -> Answer {
        do {
            let answer: Answer = try await client(timeLimit).ask(HTTPMethod(rawValue: method), path, message)
            silence.isOn.store(false, ordering: .relaxed)
            return answer
        } catch {
            throw error as? TestAPNsError ?? TestAPNsError(.refused, "The request cannot be sent: \(error)")
        }
    }

    /// Sends a request and returns the answer's text.
    func text(_ method: String, _ path: String) async throws(TestAPNsError) -> String {
        do {
            let answer = try await client(nil).answer(HTTPMethod(rawValue: method), path)
            return String(decoding: answer.body, as: UTF8.self)
        } catch {
            throw error as? TestAPNsError ?? TestAPNsError(.refused, "The request cannot be sent: \(error)")
        }
    }

    private func client(_ timeLimit: Duration?) -> APIClient {
        var client = client
        client.timeLimit = timeLimit ?? (silence.isOn.load(ordering: .relaxed) ? Self.briefLimit : Self.timeLimit)
        return client
    }

    /// Says what is wrong, and what to do.
    private static func error(_ failure: APIFailure, _ url: String, hasKey: Bool) -> TestAPNsError {
        let isOther = "\(url) is not Carillon's management API: check CARILLON_MANAGEMENT_URL."
        switch failure {
        case .refused(401, _):
            let cause = hasKey ? "refuses the key" : "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set"
            return TestAPNsError(
                .refused, "The Carillon at \(url) \(cause): set CARILLON_MANAGEMENT_KEY to its key.")
        case .refused(408, let body): return TestAPNsError(.timedOut, String(decoding: body, as: UTF8.self))
        case .refused(let status, _):
            let problem = failure.problem
            guard let detail = problem.detail else { return TestAPNsError(.refused, isOther) }
            let place = problem.pointer.map { ", at \($0)" } ?? ""
            return TestAPNsError(.refused, "\(detail) (\(status)\(place))")
        case .notReached(let error), .interrupted(let error):
            let cause = RequestFailure.cause(of: error)
            let advice =
                cause == RequestFailure.closed
                ? "if its log names a limit, such as management-connections, raise it."
                : "check that it still runs, and that CARILLON_MANAGEMENT_URL is its address if that is set."
            return TestAPNsError(.refused, "The Carillon at \(url) does not answer (\(cause)): \(advice)")
        case .notUnderstood: return TestAPNsError(.refused, isOther)
        }
    }
}
