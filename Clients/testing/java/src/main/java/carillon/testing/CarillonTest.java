package carillon.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives each test that has a parameter {@link APNs} a push notification service with a team of its own. All tests share one
 * service, which starts with the first of them.
 *
 * <pre>{@code
 * @CarillonTest
 * class PushTest {
 *     @Test void theCustomerIsTold(APNs apns) {
 *         Device phone = apns.device();
 *         backend.notify(apns.url(), phone.token(), "Your order is ready");
 *         Request request = apns.await(Map.of("outcome", "delivered"));
 *     }
 * }
 * }</pre>
 *
 * <p>On a method it has settings for that test.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@ExtendWith(CarillonExtension.class)
public @interface CarillonTest {
    /** {@code any} makes unknown teams, keys, topics and device tokens at their first sight. The test gets a service of its own. */
    String accept() default "";

    /** Options of {@code carillon serve}. The test gets a service of its own. */
    String[] options() default {};

    /** The team's ID: ten capital letters and digits. */
    String teamID() default "";

    /** The app. Two teams of a service cannot have the same app. */
    String bundleID() default "";

    /** The ID of the team's key: ten capital letters and digits. */
    String keyID() default "";

    /** The team's key in PEM. */
    String privateKeyPEM() default "";
}
