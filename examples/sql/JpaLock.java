// SPDX-License-Identifier: Apache-2.0
// JpaLock JDBC-URL: the two statements of technique insert, from Java by JPA.
import java.sql.Timestamp;
import java.util.Map;
import java.util.UUID;
import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.EntityManager;
import javax.persistence.EntityManagerFactory;
import javax.persistence.Id;
import javax.persistence.Persistence;
import javax.persistence.Table;

public class JpaLock {
    public static void main(String[] args) {
        EntityManagerFactory factory = Persistence.createEntityManagerFactory(
                "bonds", Map.of("javax.persistence.jdbc.url", args[0]));
        EntityManager em = factory.createEntityManager();
        em.getTransaction().begin();
        BusinessObjectLock lock = new BusinessObjectLock("BondBO:DK0015966592");
        em.persist(lock);
        em.flush(); // sends the INSERT, which waits until the name is free
        em.remove(lock);
        em.flush(); // sends the DELETE, so that COMMIT leaves no row behind
        System.out.println("locked");
        em.createNativeQuery("UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592'")
                .executeUpdate();
        em.getTransaction().commit();
        factory.close();
    }
}

@Entity
@Table(name = "businessobjectlock")
class BusinessObjectLock {
    @Id
    private String uuid = UUID.randomUUID().toString().replace("-", "");
    private String id;
    @Column(name = "locked_ts")
    private Timestamp locked = new Timestamp(System.currentTimeMillis());

    protected BusinessObjectLock() {
    }

    BusinessObjectLock(String id) {
        this.id = id;
    }
}
