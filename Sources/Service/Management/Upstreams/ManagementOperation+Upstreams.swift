import Delivery
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import Matching
import Notifications
import Storage
import Upstream

// Where the notifications of apps are forwarded to (docs/gateway.md).
extension ManagementOperations {
    static let upstreams = [
        ManagementOperation(
            method: .put, path: "/v1/apps/{bundleID}/upstreams/{environment}",
            summary: "Forward an app's notifications to another service of the provider API",
            parameters: upstreamPlace, body: Body(reading: ManagementMessages.NewUpstream.schema),
            answer: .json(ManagementMessages.Upstream.schema), problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.setUpstream(try api.upstreamPlace(call), call.message()))
        },
        ManagementOperation(
            method: .get, path: "/v1/apps/{bundleID}/upstreams/{environment}",
            summary: "Where an app's notifications are forwarded to, without secrets", parameters: upstreamPlace,
            answer: .json(ManagementMessages.Upstream.schema), problems: [404]
        ) { api, call in
            .json(api.message(try api.presentUpstream(try api.upstreamPlace(call))))
        },
        ManagementOperation(
            method: .delete, path: "/v1/apps/{bundleID}/upstreams/{environment}",
            summary: "Deliver an app's notifications here again", parameters: upstreamPlace,
            answer: .json(ManagementMessages.Upstream.schema), problems: [404]
        ) { api, call in
            .json(try await api.removeUpstream(try api.upstreamPlace(call)))
        },
    ]

    static let upstreamPlace = [
        Parameter.path("bundleID", .bundleID, "The app's bundle ID."),
        Parameter.path("environment", .environment, "The environment."),
    ]
}

extension ManagementAPI {
    func upstreamPlace(_ call: ManagementCall) throws(Problem) -> UpstreamPlace {
        UpstreamPlace(
            bundleID: try bundleID(call.parameter("bundleID")),
            environment: try environment(call.parameter("environment")))
    }

    func presentUpstream(_ place: UpstreamPlace) throws(StoreError) -> AppUpstream {
        guard let upstream = accounts.current.upstreams[place] else { throw .missingUpstream(place) }
        return upstream
    }

    func setUpstream(
        _ place: UpstreamPlace,
        _ request: ManagementMessages.NewUpstream,
    ) async throws -> ManagementMessages.Upstream {
        guard !acceptsAny else {
            throw Problem(
                409,
                "The service accepts anything (--accept any), so it forwards nothing. Start it without that option.")
        }
        var proposal = UpstreamVault.Proposal(place: place)
        proposal.url = request.url
        proposal.authority = request.authority
        proposal.credentials = try request.credentials?.read()
        proposal.proxy = request.proxy
        proposal.captures = request.capture ?? false
        proposal.compares = request.compare ?? false
        if let hold = request.hold {
            guard let duration = Duration(iso8601: hold) else {
                throw Problem.invalid("/hold", "The value has to be \(TextFormat.duration.name).")
            }
            let (seconds, attoseconds) = duration.components
            // fits: a duration has nine digits for each unit
            let milliseconds = UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
            proposal.hold = milliseconds
        }
        let upstream: AppUpstream
        do throws(UpstreamError) {
            upstream = try parts.upstreams.make(proposal, replacing: accounts.current.upstreams[place])
        } catch {
            throw error.code == .contradiction
                ? Problem(409, error.cause, pointer: error.pointer) : .invalid(error.pointer, error.cause)
        }
        _ = try await accounts.apply(.setUpstream(upstream))
        return message(upstream)
    }

    func removeUpstream(_ place: UpstreamPlace) async throws -> ManagementMessages.Upstream {
        let upstream = try presentUpstream(place)
        _ = try await accounts.apply(.removeUpstream(place))
        return message(upstream)
    }

    func message(_ upstream: AppUpstream) -> ManagementMessages.Upstream {
        ManagementMessages.Upstream(
            bundleID: upstream.place.bundleID.rawValue, environment: upstream.place.environment.rawValue,
            url: upstream.url, authority: upstream.authority, credentials: .init(upstream.credentials),
            proxy: upstream.proxy, hold: Duration.milliseconds(Int64(clamping: upstream.hold)).iso8601,
            capture: upstream.captures, compare: upstream.compares,
            refused: parts.upstreamRefusals()[upstream.place].map { .init($0) })
    }
}
