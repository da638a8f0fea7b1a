import APNSProvider
import CampaignStore
import Connections
import HTTPAPI
import Notifications

// What the form of an app does not say.
extension ProviderMessages.AppRequest {
    init(checking value: JSONValue) throws(Problem) {
        self = try Self.form.read(value, nullIsMissing: true)
        guard identity == nil || acceptsClaimedUsers != true else {
            throw .invalid(
                "/acceptsClaimedUsers",
                "The value has to be false if there is identity, whose tokens say who the user is.")
        }
        guard !environments.isEmpty else {
            throw .invalid("/environments", "The value has to be development, production or both.")
        }
        for environment in Environment.allCases { try environments[environment]?.check(environment, teamID: teamID) }
    }

    /// Checks that the identity provider's keys can be read, so that a wrong path is found now.
    func checkIdentity(_ files: IdentityKeyFiles) throws(Problem) {
        guard let identity else { return }
        do throws(ProviderServerError) {
            _ = try files.keys(identity.keysFile)
        } catch {
            throw .invalid("/identity/keysFile", error.cause)
        }
    }

    /// Returns the endpoints to store.
    func endpoints(
        bundleID: String,
        known: ProviderApp?,
        _ vault: CredentialVault,
    ) throws -> [Environment: ProviderApp.Endpoint] {
        var endpoints: [Environment: ProviderApp.Endpoint] = [:]
        for (environment, place) in environments {
            let url = place.url ?? environment.appleURL
            if let credentials = place.credentials(teamID: teamID) {
                let name = CredentialVault.endpointName(bundleID, environment)
                endpoints[environment] = ProviderApp.Endpoint(
                    url: url, authority: place.authority, feedback: place.feedback,
                    channels: place.channels, sealedCredentials: try vault.seal(credentials, name: name),
                    credentials: credentials.summary)
            } else if var kept = known?.endpoints[environment], known?.teamID == teamID {
                kept.url = url
                kept.authority = place.authority
                kept.feedback = place.feedback
                kept.channels = place.channels
                endpoints[environment] = kept
            } else {
                throw Problem.invalid(
                    "/environments/\(environment.rawValue)", "The environment needs a key or a certificate.")
            }
        }
        for (environment, endpoint) in endpoints where endpoint.feedback != nil {
            guard endpoint.credentials == .certificate else {
                throw Problem.invalid(
                    "/environments/\(environment.rawValue)/feedback",
                    "The feedback service accepts certificates only (Guide, 3.1.3): give a certificate, or leave it out."
                )
            }
        }
        return endpoints
    }

    /// Returns the app to store.
    func app(
        bundleID: String,
        known: ProviderApp?,
        clientKey: [UInt8],
        serverKey: [UInt8],
        _ vault: CredentialVault,
    ) throws -> ProviderApp {
        ProviderApp(
            number: known?.number ?? 0, bundleID: bundleID, teamID: teamID,
            endpoints: try endpoints(bundleID: bundleID, known: known, vault), clientKeyDigest: clientKey,
            serverKeyDigest: serverKey, acceptsClaimedUsers: acceptsClaimedUsers ?? false, identity: identity)
    }
}

extension ProviderMessages.AppEnvironmentRequest {
    /// Nil to keep the credentials that are stored.
    func credentials(teamID: String) -> CredentialVault.Secret? {
        key.map { .key(teamID: teamID, keyID: $0.keyID, privateKey: $0.privateKey) }
            ?? certificate.map { .certificate($0) }
    }

    /// Checks everything that the form does not, so that the store never contains what cannot be used.
    func check(_ environment: Environment, teamID: String) throws(Problem) {
        let pointer = "/environments/\(environment.rawValue)"
        guard key == nil || certificate == nil else {
            throw .invalid(pointer + "/certificate", "Give a key or a certificate, not both.")
        }
        // The feedback service has a port of its own, so the address has to name one.
        if let feedback, !Self.isServer(feedback) || (try? ServerURL(feedback))?.port == nil {
            throw .invalid(
                pointer + "/feedback", "The value has to be https://host:port; the port is usually 2196.")
        }
        if let channels, !Self.isServer(channels) {
            throw .invalid(pointer + "/channels", "The value has to be https://host:port.")
        }
        let url = url ?? environment.appleURL
        do throws(ProviderError) {
            _ = try APNSEnvironment.custom(url: url)
        } catch {
            throw .invalid(pointer + "/url", error.cause)
        }
        do throws(ProviderError) {
            // Credentials that stay are not opened here, so no client checks what is given beside them.
            if let authority { try APNSEnvironment.Authority.pem(authority).check() }
        } catch {
            throw .invalid(pointer + "/authority", error.cause)
        }
        guard let credentials = credentials(teamID: teamID) else { return }
        let opened: ProviderCredentials
        do throws(ProviderError) {
            opened = try credentials.provider()
        } catch {
            throw .invalid(pointer + (key == nil ? "/certificate" : "/key/privateKey"), error.cause)
        }
        do throws(ProviderError) {
            let client = try ProviderClient(credentials: opened, environment: .custom(url: url, pem: authority))
            withExtendedLifetime(client) {}
        } catch {
            let isAuthority = authority != nil && error.code == .badEnvironment
            throw .invalid(isAuthority ? pointer + "/authority" : pointer, error.cause)
        }
    }

    private static func isServer(_ url: String) -> Bool { (try? APNSEnvironment.custom(url: url)) != nil }
}
