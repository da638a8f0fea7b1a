import HTTPAPIClient

/// Sends requests to the management API of a service.
struct ManagementCalls: Sendable {
    let url: String
    let key: String
    private let client: APIClient

    /// The longest time of a request that waits for nothing.
    static let timeLimit = Duration.seconds(30)

    init(url: String, key: String) {
        (self.url, self.key) = (url, key)
        client = APIClient(.url(url), key: key, sharesConnections: true) { Self.error($0, url) }
    }

    /// Sends a request and returns the answer.
    /// - Parameter timeLimit: the longest time until the whole answer is there.
    /// - Throws: ``TestAPNsError/Code/refused`` with the service's explanation, or ``TestAPNsError/Code/timedOut``.
    func ask<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: (some Encodable & Sendable)? = Never?.none,
        timeLimit: Duration = Self.timeLimit,
    ) async throws(TestAPNsError) -> Answer {
        do {
            return try await client(timeLimit).ask(HTTPMethod(rawValue: method), path, message)
        } catch {
            throw error as? TestAPNsError ?? TestAPNsError(.refused, "The request cannot be sent: \(error)")
        }
    }

    /// Sends a request and returns the answer's text.
    func text(_ method: String, _ path: String) async throws(TestAPNsError) -> String {
        do {
            let answer = try await client(Self.timeLimit).answer(HTTPMethod(rawValue: method), path)
            return String(decoding: answer.body, as: UTF8.self)
        } catch {
            throw error as? TestAPNsError ?? TestAPNsError(.refused, "The request cannot be sent: \(error)")
        }
    }

    private func client(_ timeLimit: Duration) -> APIClient {
        var client = client
        client.timeLimit = timeLimit
        return client
    }

    /// Says what is wrong, and what to do.
    private static func error(_ failure: APIFailure, _ url: String) -> TestAPNsError {
        let isOther = "\(url) is not Carillon's management API: check CARILLON_MANAGEMENT_URL."
        switch failure {
        case .refused(401, _):
            return TestAPNsError(
                .refused, "The Carillon at \(url) refuses the key: set CARILLON_MANAGEMENT_KEY to its key.")
        case .refused(408, let body): return TestAPNsError(.timedOut, String(decoding: body, as: UTF8.self))
        case .refused(let status, _):
            let problem = failure.problem
            guard let detail = problem.detail else { return TestAPNsError(.refused, isOther) }
            let place = problem.pointer.map { ", at \($0)" } ?? ""
            return TestAPNsError(.refused, "\(detail) (\(status)\(place))")
        case .notReached(let error), .interrupted(let error):
            let cause = RequestFailure.cause(of: error)
            return TestAPNsError(
                .refused,
                "The Carillon at \(url) does not answer (\(cause)): check that it still runs, and that "
                    + "CARILLON_MANAGEMENT_URL is its address if that is set.")
        case .notUnderstood: return TestAPNsError(.refused, isOther)
        }
    }
}
